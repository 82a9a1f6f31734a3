# Errors of all runs that were not given to the model, a line per series.
#   gnuplot -e "out='build/demo'" plots/error.gp        reads OUT/source-*.dat
load 'plots/style.gp'
all = out."/errors.dat"
system(sprintf("awk -F'\"' '/^\"/ { n++; name = $2; next } /^[0-9]/ { split($0, p, \" \"); if (!p[4]) print n, p[1], p[9], name }' %s/source-*.dat >%s", out, all))
n_series = system(sprintf("cat %s/source-*.dat | grep -c '^\"'", out)) + 0
longest = system(sprintf("awk 'length($4) > n { n = length($4) } END { print n + 0 }' %s", all)) + 0

stats all using (abs($3)) nooutput name "error"
reach = (error_max > 10 ? error_max : 10) * 1.1
height = 150.0 + 20 * n_series
set terminal pngcairo size 560 + 7 * longest, height font "DejaVu Sans,10" background "white"
set output out."/error.png"
set title "Throughput of published runs, predicted / measured - 1" font "DejaVu Sans Bold,13"
set xlabel "error (%), right of 0: predicted too fast"
set xrange [-reach:reach]
set yrange [n_series + 0.7:0.3]
set grid xtics ytics
set ytics noenhanced font ",9"
set lmargin at screen 7.0 * longest / (560 + 7 * longest)
set rmargin 4
set object 1 rectangle from -5, graph 0 to 5, graph 1 fillcolor rgb "#e6f2dc" fillstyle solid noborder behind
set arrow 1 from 0, graph 0 to 0, graph 1 nohead linecolor rgb ideal_colour
set bmargin 6
set key at screen 0.34, screen 80 / height right top vertical maxrows 4
few(n) = n <= 8
mid(n) = n > 8 && n <= 32
plot all using (few($2) ? $3 : NaN):1:ytic(4) with points pointtype 6 pointsize 1.1 linewidth 1.5 linecolor rgb "#2a9d8f" title "to 8 GPUs", \
     all using (mid($2) ? $3 : NaN):1 with points pointtype 4 pointsize 1.0 linewidth 1.5 linecolor rgb "#e09f3e" title "9 to 32", \
     all using ($2 > 32 ? $3 : NaN):1 with points pointtype 8 pointsize 1.2 linewidth 1.5 linecolor rgb "#9e2a2b" title "more", \
     NaN with boxes fillstyle solid linecolor rgb "#e6f2dc" title "within 5 %"
