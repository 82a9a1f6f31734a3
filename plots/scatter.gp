# Predicted against published scaling efficiency of every run that was not given, a colour per source.
# Throughputs would lie on the diagonal whatever scaling were predicted; efficiencies do not.
#   gnuplot -e "out='build/demo'; output='x.png'" plots/scatter.gp        reads OUT/source-*.dat, OUT/sources.txt
load 'plots/style.gp'
set terminal pngcairo size 720, 660 font "DejaVu Sans,11" background "white"
set output output
runs = sprintf("< awk '/^[0-9]/ && !$4' %s/source-*.dat", out)
stats runs using 5:6 nooutput name "run"
floor_10(x) = 10 * floor(x / 10)
low = floor_10((run_min_x < run_min_y ? run_min_x : run_min_y) - 3)
set title sprintf("Scaling efficiency of %d published multi-GPU runs", run_records) font "DejaVu Sans Bold,13"
set xlabel "published (% of N times one GPU)"
set ylabel "predicted from one GPU (%)"
set grid xtics ytics
set xtics 10
set ytics 10
set xrange [low:112]
set yrange [low:112]
set size ratio -1
set key bottom right Left reverse spacing 1.2
n = system(sprintf("wc -l <%s/sources.txt", out)) + 0
name(k) = system(sprintf("sed -n 's/^%d|//p' %s/sources.txt", k, out))
array colours[6] = ["#0060a8", "#d1495b", "#2a9d8f", "#e09f3e", "#9d4edd", "#555555"]
array marks[6] = [6, 4, 8, 10, 12, 1]
plot '+' using 1:($1 - 5):($1 + 5) with filledcurves linecolor rgb "#eef3e8" title "within 5 points", \
     x with lines linecolor rgb ideal_colour title "equal", \
     for [k = 1:n] sprintf("< awk '/^[0-9]/ && !$4' %s/source-%d.dat", out, k) using 5:6 with points \
         pointtype marks[(k - 1) % 6 + 1] pointsize 0.9 linewidth 1.4 linecolor rgb colours[(k - 1) % 6 + 1] title name(k) noenhanced
