# Common looks: load 'plots/style.gp' first, then call the terminal with a size, e.g.
#   set terminal pngcairo size 900, 560 font "DejaVu Sans,11" background "white"
predicted_colour = "#0060a8"
measured_colour  = "#d1495b"
ideal_colour     = "#9a9a9a"
band_colour      = "#bcd7ec"

forward_colour   = "#7fb3d5"
backward_colour  = "#1f5f85"
optimizer_colour = "#81b29a"
exposed_colour   = "#e07a5f"
straggler_colour = "#9d4edd"
launch_colour    = "#f2cc8f"
input_colour     = "#b5838d"
bubble_colour    = "#d9d9d9"

set border 3 linecolor rgb "#444444"
set tics nomirror textcolor rgb "#222222"
set grid ytics linetype 1 linewidth 0.5 linecolor rgb "#dddddd"
set key noopaque
