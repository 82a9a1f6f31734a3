# Where the step goes: stacked bars over GPU counts.
#   gnuplot -e "shares='s.dat'; name='...'; output='x.png'" plots/breakdown.gp
# shares: GPUs iteration efficiency forward backward optimizer exposed straggler launch input bubble (times in ms)
load 'plots/style.gp'
set terminal pngcairo size 960, 600 font "DejaVu Sans,11" background "white"
set output output
set title "Where the step goes: ".name font "DejaVu Sans Bold,13" noenhanced
set style data histograms
set style histogram rowstacked
set style fill solid 1.0 noborder
set boxwidth 0.62
set xlabel "GPUs"
set ylabel "time of one training step (ms)"
stats shares using 2 nooutput name "step"
set yrange [0:step_max * 1.15]
set xtics scale 0
set key outside right center vertical invert reverse Left samplen 1.2 spacing 1.4
set label 1 "above the bars: scaling efficiency" at graph 0.01, graph 0.97 left font ",9" textcolor rgb "#555555"
names = "forward backward optimizer exposed_communication straggler launch input bubble"
colours = forward_colour." ".backward_colour." ".optimizer_colour." ".exposed_colour." ".straggler_colour." ".\
          launch_colour." ".input_colour." ".bubble_colour
# a part that takes no time at any count has no place in the legend
largest(k) = real(system(sprintf("awk '$%d > m { m = $%d } END { print m + 0 }' %s", k + 3, k + 3, shares)))
title_of(k) = largest(k) > 5e-4 * step_max ? system("echo '".word(names, k)."' | tr _ ' '") : ""
plot for [k = 1:words(names)] shares using k + 3:xtic(1) linecolor rgb word(colours, k) title title_of(k), \
     '' using 0:2:(sprintf("%.0f %%", 100 * $3)) with labels offset 0, 0.7 font ",10" notitle
