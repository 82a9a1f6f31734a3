# Throughput over GPUs: predicted line with its interval, published points.
#   gnuplot -e "predicted='p.dat'; measured='m.dat'; unit='images/s'; name='...'; output='x.png'" plots/scaling.gp
# predicted: GPUs throughput low high    measured: GPUs throughput
load 'plots/style.gp'
set terminal pngcairo size 900, 620 font "DejaVu Sans,11" background "white"
set output output
one = real(system(sprintf("awk '{ print $2 / $1; exit }' %s", predicted)))
at(g) = real(system(sprintf("awk '$1 == %d { print $2; exit }' %s", g, predicted)))

set title name font "DejaVu Sans Bold,13" noenhanced
set logscale xy
set logscale x 2
set xlabel "GPUs"
set ylabel "throughput (".unit.")"
set format y "%.0f"
set grid xtics ytics
set key top left reverse Left samplen 3 spacing 1.3
set offsets graph 0.03, graph 0.12, 0, 0
set label 1 "labels: predicted / measured - 1" at graph 0.985, graph 0.05 right font ",9" textcolor rgb "#555555"
error(g, x) = sprintf("%+.1f %%", 100 * (at(g) / x - 1))
plot predicted using 1:3:4 with filledcurves linecolor rgb band_colour title "90 % interval", \
     predicted using 1:($1 * one) with lines linecolor rgb ideal_colour dashtype 3 linewidth 1.5 title "ideal: GPUs times one", \
     predicted using 1:2 with linespoints linecolor rgb predicted_colour linewidth 2.5 pointtype 7 pointsize 0.6 title "predicted", \
     measured using 1:2 with points linecolor rgb measured_colour linewidth 2.5 pointtype 6 pointsize 1.8 title "measured (published)", \
     measured using 1:2:($1 > 1 ? error($1, $2) : "given") with labels left offset 1.4, -0.6 font ",10" textcolor rgb measured_colour notitle
