# Errors of all runs that were not given to the model, a line per series.
#   gnuplot -e "out='build/demo'" plots/error.gp        reads OUT/source-*.dat, writes OUT/error.png
load 'plots/style.gp'
all = out."/errors.dat"
system(sprintf("awk -F'\"' '/^\"/ { n++; name = $2; next } /^[0-9]/ { split($0, p, \" \"); if (!p[4]) print n, p[1], p[9], name }' %s/source-*.dat >%s", out, all))
n_series = system(sprintf("cat %s/source-*.dat | grep -c '^\"'", out)) + 0
longest = system(sprintf("awk 'length($4) > n { n = length($4) } END { print n + 0 }' %s", all)) + 0

# A few far away would press all others together: they stand at the edge, with their number.
edge = 40.0
inside(x) = x > edge ? edge : x < -edge ? -edge : x
is_out(x) = x > edge || x < -edge

width = 590 + 7.2 * longest
height = 130.0 + 18 * n_series
set terminal pngcairo size width, height font "DejaVu Sans,10" background "white"
set output out."/error.png"
set lmargin at screen (7.2 * longest + 10) / width
set rmargin at screen 1 - 110.0 / width
set tmargin at screen 1 - 72 / height
set bmargin at screen 48 / height
set label 1 "Throughput of published runs, predicted / measured - 1" at screen 0.5, screen 1 - 20 / height center font "DejaVu Sans Bold,13"
set xlabel "error (%); right of 0: predicted too fast; at the edge: beyond it, by the number" offset -14, 0
set xrange [-edge:edge]
set yrange [n_series + 0.7:0.3]
set grid xtics ytics
set xtics 10
set ytics noenhanced font ",9" scale 0
set object 1 rectangle from -5, graph 0 to 5, graph 1 fillcolor rgb "#e6f2dc" fillstyle solid noborder behind
set arrow 1 from 0, graph 0 to 0, graph 1 nohead linecolor rgb ideal_colour
set key at screen 0.5, screen 1 - 36 / height center top horizontal maxrows 1 samplen 1.5 width -2
few(n) = n <= 8
mid(n) = n > 8 && n <= 32
plot all using (few($2) ? inside($3) : NaN):1:ytic(4) with points pointtype 6 pointsize 1.1 linewidth 1.5 linecolor rgb "#2a9d8f" title "to 8 GPUs", \
     all using (mid($2) ? inside($3) : NaN):1 with points pointtype 4 pointsize 1.0 linewidth 1.5 linecolor rgb "#e09f3e" title "9 to 32", \
     all using ($2 > 32 ? inside($3) : NaN):1 with points pointtype 8 pointsize 1.2 linewidth 1.5 linecolor rgb "#9e2a2b" title "more", \
     sprintf("< awk '$3 > %g || $3 < -%g { if (!($1 in far)) n++; far[$1] = far[$1] sprintf(\"%%s%%+.0f\", far[$1] ? \" \" : \"\", $3) } END { for (l in far) print l, \"\\\"\" far[l] \"\\\"\" }' %s", edge, edge, all) \
         using (edge):1:2 with labels left offset 1, 0 font ",8" notitle, \
     NaN with boxes fillstyle solid linecolor rgb "#e6f2dc" title "within 5 %"
