# Scaling efficiency of one source's published runs, a panel per series.
#   gnuplot -e "points='build/demo/source-1.dat'; source='...'; output='x.png'" plots/efficiency.gp
load 'plots/style.gp'
n_series = system(sprintf("grep -c '^\"' %s", points)) + 0
# names without the word that all of a source begin with
name(s) = system(sprintf("awk -F'\"' '/^\"/ && n++ == %d { sub(/^[^-]*-/, \"\", $2); print $2 }' %s", s, points))
# the least efficiency of all, for one range on all panels; GPUs of one panel
lowest = real(system(sprintf("awk '/^[0-9]/ { if ($5 < m || !m) m = $5; if ($7 < m) m = $7 } END { print m }' %s", points)))
most_gpus(s) = real(system(sprintf("awk '/^\"/ { n++ } /^[0-9]/ && n == %d && $1 > m { m = $1 } END { print m }' %s", s + 1, points)))
least_gpus(s) = real(system(sprintf("awk '/^\"/ { n++ } /^[0-9]/ && n == %d && (!m || $1 < m) { m = $1 } END { print m }' %s", s + 1, points)))

# the first place of the grid is taken by the legend
places = n_series + 1
columns = places < 4 ? places : 4
rows = (places + columns - 1) / columns
set terminal pngcairo size 350 * columns + 20, 230 * rows + 50 font "DejaVu Sans,9" background "white"
set output output
set multiplot layout rows, columns title "Scaling efficiency of published runs: ".source font "DejaVu Sans Bold,13" noenhanced

set yrange [0:1]
set xrange [0:1]
unset border
unset tics
unset grid
set key center center spacing 1.6 samplen 3 font ",11"
plot NaN with filledcurves linecolor rgb band_colour title "90 % interval", \
     NaN with lines linecolor rgb ideal_colour dashtype 3 title "ideal", \
     NaN with linespoints linecolor rgb predicted_colour linewidth 2 pointtype 7 pointsize 0.5 title "predicted", \
     NaN with points linecolor rgb measured_colour linewidth 2 pointtype 6 pointsize 1.2 title "measured"

load 'plots/style.gp'
unset key
set tics nomirror
set logscale x 2
set xlabel "GPUs" offset 0, 0.5
set ylabel "efficiency (%)" offset 1, 0
set ytics 20
set yrange [20 * int(lowest / 20 - 0.1):116]
do for [s = 0:n_series - 1] {
    set title name(s) font "DejaVu Sans,9" noenhanced offset 0, -0.4
    set xrange [least_gpus(s) / 1.3:most_gpus(s) * 1.3]
    plot points index s using 1:7:8 with filledcurves linecolor rgb band_colour, \
         100 with lines linecolor rgb ideal_colour dashtype 3, \
         points index s using 1:6 with linespoints linecolor rgb predicted_colour linewidth 2 pointtype 7 pointsize 0.5, \
         points index s using 1:5 with points linecolor rgb measured_colour linewidth 2 pointtype 6 pointsize 1.2
}
unset multiplot
