# Predicted against published throughput of every run that was not given, a colour per source.
#   gnuplot -e "out='build/demo'" plots/scatter.gp        reads OUT/source-*.dat, OUT/sources.txt
load 'plots/style.gp'
set terminal pngcairo size 760, 620 font "DejaVu Sans,11" background "white"
set output out."/efficiency.png"
set title "Multi-GPU throughput predicted from one GPU" font "DejaVu Sans Bold,13"
set xlabel "published (samples per second)"
set ylabel "predicted (samples per second)"
set logscale xy
set grid xtics ytics
set format xy "10^{%T}"
set key top left Left reverse spacing 1.2
n = system(sprintf("wc -l <%s/sources.txt", out)) + 0
name(k) = system(sprintf("sed -n 's/^%d|//p' %s/sources.txt", k, out))
array colours[6] = ["#0060a8", "#d1495b", "#2a9d8f", "#e09f3e", "#9d4edd", "#555555"]
array marks[6] = [6, 4, 8, 10, 12, 1]
set xrange [20:600000]
set yrange [20:600000]
plot x with lines linecolor rgb ideal_colour title "equal", \
     1.1 * x with lines dashtype 3 linecolor rgb ideal_colour title "10 % off", \
     x / 1.1 with lines dashtype 3 linecolor rgb ideal_colour notitle, \
     for [k = 1:n] sprintf("< awk '/^[0-9]/ && !$4' %s/source-%d.dat", out, k) using 2:3 with points \
         pointtype marks[k] pointsize 0.9 linewidth 1.4 linecolor rgb colours[k] title name(k) noenhanced
