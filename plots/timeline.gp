# The streams of one GPU over two steps, as bars.
#   gnuplot -e "spans='t.dat'; name='...'; output='x.png'" plots/timeline.gp        spans: of timeline.awk
load 'plots/style.gp'
names = system(sprintf("awk '/^# stream/ { print $4 }' %s", spans))
n_streams = words(names)
last = real(system(sprintf("awk '/^[0-9]/ && $3 > m { m = $3 } END { print m }' %s", spans)))
kinds = "forward backward optimizer communication wait_for_the_others launch input"
colours = forward_colour." ".backward_colour." ".optimizer_colour." ".exposed_colour." ".straggler_colour." ".launch_colour." ".input_colour
title_of(k) = system("echo '".word(kinds, k)."' | tr _ ' '")
time_of(k) = real(system(sprintf("awk '$4 == \"%s\" { t += $3 - $2 } END { print t + 0 }' %s", word(kinds, k), spans)))

set terminal pngcairo size 1200, 170 + 70 * n_streams font "DejaVu Sans,11" background "white"
set output output
set title "Timeline of one GPU, two steps: ".name font "DejaVu Sans Bold,13" noenhanced
set xlabel "time (ms)" offset 0, 0.3
set yrange [n_streams - 0.4:-0.6]
set ytics scale 0 ()
do for [s = 1:n_streams] { set ytics add (word(names, s) s - 1) }
set ytics noenhanced
set grid xtics noytics
set bmargin 5.5
set key at graph 0.5, screen 0.07 center center horizontal reverse Left samplen 1.5 width 1
set style fill solid 1.0 noborder
set xrange [0:last * 1.01]
# kinds that can be seen: another would only have a place in the legend
shown = ""
do for [k = 1:words(kinds)] { if (time_of(k) > 5e-4 * last) { shown = shown." ".k } }
number(i) = word(shown, i) + 0
# collectives that follow each other are told apart by a thin edge
edge(i) = word(kinds, number(i)) eq "communication" ? "#ffffff" : word(colours, number(i))
plot for [i = 1:words(shown)] spans \
     using 2:(stringcolumn(4) eq word(kinds, number(i)) ? $1 : NaN):2:3:($1 - 0.36):($1 + 0.36) \
     with boxxyerror fillcolor rgb word(colours, number(i)) fillstyle solid 1.0 border linecolor rgb edge(i) title title_of(number(i))
