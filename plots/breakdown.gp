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
plot shares using 4:xtic(1) linecolor rgb forward_colour title "forward", \
     '' using 5 linecolor rgb backward_colour title "backward", \
     '' using 6 linecolor rgb optimizer_colour title "optimizer", \
     '' using 7 linecolor rgb exposed_colour title "exposed communication", \
     '' using 8 linecolor rgb straggler_colour title "straggler", \
     '' using 9 linecolor rgb launch_colour title "launch", \
     '' using 10 linecolor rgb input_colour title "input", \
     '' using 11 linecolor rgb bubble_colour title "bubble", \
     '' using 0:2:(sprintf("%.0f %%", 100 * $3)) with labels offset 0, 0.7 font ",10" notitle
