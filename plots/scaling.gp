# Throughput and efficiency over GPUs: predicted line with its interval, published points.
#   gnuplot -e "predicted='p.dat'; measured='m.dat'; unit='images/s'; name='...'; output='x.png'" plots/scaling.gp
# predicted: GPUs throughput low high    measured: GPUs throughput
load 'plots/style.gp'
set terminal pngcairo size 1200, 540 font "DejaVu Sans,11" background "white"
set output output
first(file, column) = real(system(sprintf("awk '{ print $%d; exit }' %s", column, file)))
one = first(predicted, 2) / first(predicted, 1)
one_measured = first(measured, 2) / first(measured, 1)
at(g) = real(system(sprintf("awk '$1 == %d { print $2; exit }' %s", g, predicted)))
error(g, x) = g > 1 ? sprintf("%+.1f %%", 100 * (at(g) / x - 1)) : "given"

set multiplot layout 1, 2 title name font "DejaVu Sans Bold,13" noenhanced
set tmargin 2
set logscale x 2
set xlabel "GPUs"
set grid xtics ytics
set key top left reverse Left samplen 3 spacing 1.3
set offsets graph 0.05, graph 0.14, 0, 0

set logscale y
set format y "%.0f"
set ylabel "throughput (".unit.")"
set label 1 "labels: predicted / measured - 1" at graph 0.985, graph 0.05 right font ",9" textcolor rgb "#555555"
plot predicted using 1:3:4 with filledcurves linecolor rgb band_colour title "90 % interval", \
     predicted using 1:($1 * one) with lines linecolor rgb ideal_colour dashtype 3 linewidth 1.5 title "ideal: GPUs times one", \
     predicted using 1:2 with linespoints linecolor rgb predicted_colour linewidth 2.5 pointtype 7 pointsize 0.6 title "predicted", \
     measured using 1:2 with points linecolor rgb measured_colour linewidth 2.5 pointtype 6 pointsize 1.6 title "measured (published)", \
     measured using 1:2:(error($1, $2)) with labels left offset 1.2, -0.6 font ",10" textcolor rgb measured_colour notitle

# one GPU is what the others are compared with: its efficiency is one, without doubt
unset logscale y
unset label 1
set ylabel "efficiency (% of N times one GPU)" offset 1, 0
set yrange [0:118]
set ytics 20
set key bottom left
share(x, g) = 100 * x / g / one
plot predicted using 1:(share($1 > 1 ? $3 : $2, $1)):(share($1 > 1 ? $4 : $2, $1)) with filledcurves linecolor rgb band_colour title "90 % interval", \
     100 with lines linecolor rgb ideal_colour dashtype 3 linewidth 1.5 title "ideal", \
     predicted using 1:(share($2, $1)) with linespoints linecolor rgb predicted_colour linewidth 2.5 pointtype 7 pointsize 0.6 title "predicted", \
     measured using 1:(100 * $2 / $1 / one_measured) with points linecolor rgb measured_colour linewidth 2.5 pointtype 6 pointsize 1.6 title "measured (published)"
unset multiplot
