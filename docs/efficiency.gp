# Scaling efficiency of published runs against the predicted one: what README.md shows. Throughputs would
# lie on the diagonal whatever scaling were predicted; efficiencies do not.
#   gnuplot -e "out='build/docs'; output='docs/efficiency.png'" docs/efficiency.gp
load 'plots/style.gp'
set terminal pngcairo size 940, 560 font "DejaVu Sans,11" background "white"
set output output
set title "Scaling efficiency of published multi-GPU runs" font "DejaVu Sans Bold,13"
set xlabel "published (% of N times one GPU)"
set ylabel "predicted from one GPU (%)"
set grid xtics ytics
set xrange [30:112]
set yrange [30:112]
set size ratio -1
set key outside right center Left reverse spacing 1.4
n = system(sprintf("wc -l <%s/sources.txt", out)) + 0
name(k) = system(sprintf("sed -n 's/^%d|//p' %s/sources.txt", k, out))
array colours[6] = ["#0060a8", "#d1495b", "#2a9d8f", "#e09f3e", "#9d4edd", "#555555"]
array marks[6] = [6, 4, 8, 10, 12, 1]
plot x with lines linecolor rgb ideal_colour title "equal", \
     x + 5 with lines dashtype 3 linecolor rgb ideal_colour title "5 points off", \
     x - 5 with lines dashtype 3 linecolor rgb ideal_colour notitle, \
     for [k = 1:n] sprintf("< awk '/^[0-9]/ && !$4' %s/source-%d.dat", out, k) using 5:6 with points \
         pointtype marks[k] pointsize 0.9 linewidth 1.4 linecolor rgb colours[k] title name(k) noenhanced
