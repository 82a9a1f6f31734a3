# Predicted against measured: awk -f csv.awk -f demo.awk -v out=DIR demo.csv predicted.csv
# Reads the rows of demo.sh's table and, in the same order, what `dpsim run --csv` printed for them.
# Prints the table and the summary; writes DIR/source-K.dat and DIR/sources.txt for the plots.
function fail(text) { print "demo: " text > "/dev/stderr"; failed = 1; exit 1 }
function cell(name) { return (name in column) ? cells[column[name]] : "" }
function abs(x) { return x < 0 ? -x : x }

FNR == 1 { file++; delete column; csv_columns($0, column); next }
file == 1 {
    csv_split($0, cells)
    n++
    series[n] = cell("series"); source[n] = cell("source"); gpus[n] = cell("n_gpus") + 0
    measured[n] = cell("measured_throughput") + 0; unit[n] = cell("unit")
    given[n] = ("given" in column) ? cell("given") == "yes" : gpus[n] == 1
    key = series[n] SUBSEP source[n]
    if (!(key in place)) { place[key] = ++n_series; name_of[n_series] = series[n]; source_of[n_series] = source[n] }
    of[n] = place[key]
    if (!(of[n] in base) || gpus[n] < gpus[base[of[n]]]) base[of[n]] = n
    if (!(source[n] in known)) { known[source[n]] = ++n_sources; source_name[n_sources] = source[n] }
}
file == 2 {
    csv_split($0, cells)
    m++
    if (cell("n_gpus") + 0 != gpus[m])
        fail("row " m " (" series[m] "): the scenario has " cell("n_gpus") " GPUs, the table says " gpus[m])
    if (unit[m] != cell("throughput_unit") && unit[m] != "samples/s")
        fail("row " m " (" series[m] "): measured in " unit[m] ", predicted in " cell("throughput_unit"))
    predicted[m] = cell("throughput") + 0
    step = cell("iteration_s") + 0
    high[m] = predicted[m] * step / cell("interval_low_s")
    low[m] = predicted[m] * step / cell("interval_high_s")
}

# Efficiency of both is against the smallest run of the same series, so like is compared with like.
function efficiency(value, i,    b) { b = base[of[i]]; return value[i] / gpus[i] / (value[b] / gpus[b]) }

function sort(list, count,    i, j, x) {
    for (i = 2; i <= count; i++) {
        x = list[i]
        for (j = i - 1; j >= 1 && list[j] > x; j--) list[j + 1] = list[j]
        list[j + 1] = x
    }
}
function median(list, count) {
    sort(list, count)
    return count % 2 ? list[(count + 1) / 2] : (list[count / 2] + list[count / 2 + 1]) / 2
}

# One line of the summary; which = "" takes all sources. Rows that were given to the model do not count.
function summarise(which, label,    i, count, compared, errors, points, widths, worst, sum, bias, inside, score) {
    for (i = 1; i <= n; i++) {
        if (given[i] || (which != "" && source[i] != which)) continue
        count++
        errors[count] = abs(predicted[i] / measured[i] - 1)
        if (i != base[of[i]]) points[++compared] = 100 * abs(efficiency(predicted, i) - efficiency(measured, i))
        if (errors[count] > worst) worst = errors[count]
        sum += errors[count]; bias += predicted[i] / measured[i] - 1
        inside += measured[i] >= low[i] && measured[i] <= high[i]
        widths[count] = log(high[i] / low[i]) / 2
        score += 2 * widths[count] + 20 * max0(log(low[i] / measured[i]), log(measured[i] / high[i]))
    }
    if (!count) return
    printf "%-34s %5d %8.1f%% %8.1f%% %8.1f%% %+8.1f%% %10s %9.0f%% %6.0f%%\n", substr(label, 1, 34), count,
        100 * median(errors, count), 100 * sum / count, 100 * worst, 100 * bias / count,
        compared ? sprintf("%.1f", median(points, compared)) : "-", 100 * inside / count,
        100 * (exp(median(widths, count)) - 1)
    if (which == "")
        printf "%d %.9g %.9g %.9g\n", count, inside / count, median(widths, count), score / count > (out "/interval.txt")
}
function max0(a, b) { a = a > b ? a : b; return a > 0 ? a : 0 }

# five digits, but never an exponent
function rate(x) { return sprintf(x < 1e4 ? "%.5g" : "%.0f", x) }

function print_rows(    i, width, last) {
    for (i = 1; i <= n; i++) if (length(series[i]) > width) width = length(series[i])
    for (i = 1; i <= n; i++) {
        if (source[i] != last)
            printf "%s%s\n%-" width "s %5s %10s %10s %7s %8s %8s\n", (i > 1 ? "\n" : ""), source[i], "series", "GPUs",
                "predicted", "measured", "error", "pred.eff", "meas.eff"
        last = source[i]
        printf "%-" width "s %5d %10s %10s %7s %7.1f%% %7.1f%%\n", series[i], gpus[i], rate(predicted[i]), rate(measured[i]),
            given[i] ? "given" : sprintf("%+.1f%%", 100 * (predicted[i] / measured[i] - 1)),
            100 * efficiency(predicted, i), 100 * efficiency(measured, i)
    }
}

# One file per source, one block per series, its name in the first line; runs in order of GPUs, so that
# lines can be drawn through them.
function write_points(which, file,    s, i, g, next_g) {
    print "# GPUs measured predicted given measured_eff predicted_eff low_eff high_eff error (efficiencies and error in %)" > file
    for (s = 1; s <= n_series; s++) {
        if (source_of[s] != which) continue
        printf "\"%s\"\n", name_of[s] > file
        for (g = 0; ; g = next_g) {
            next_g = 0
            for (i = 1; i <= n; i++)
                if (of[i] == s && gpus[i] > g && (!next_g || gpus[i] < next_g)) next_g = gpus[i]
            if (!next_g) break
            for (i = 1; i <= n; i++)
                if (of[i] == s && gpus[i] == next_g) write_point(i, file)
        }
        printf "\n\n" > file
    }
    close(file)
}
# The smallest run is what the others are compared with: its efficiency is one, without doubt.
function write_point(i, file,    e, doubt) {
    e = 100 * efficiency(predicted, i)
    doubt = gpus[i] > gpus[base[of[i]]]
    printf "%d %.9g %.9g %d %.9g %.9g %.9g %.9g %.9g\n", gpus[i], measured[i], predicted[i], given[i],
        100 * efficiency(measured, i), e, doubt ? e * low[i] / predicted[i] : e, doubt ? e * high[i] / predicted[i] : e,
        100 * (predicted[i] / measured[i] - 1) > file
}

END {
    if (failed) exit 1
    if (m != n) fail("the table has " n " rows, " m " were predicted")
    print_rows()
    printf "\n%-34s %5s %9s %9s %9s %9s %10s %10s %7s\n", "summary (without given rows)", "rows", "median", "mean",
        "worst", "bias", "eff. pts", "inside 90%", "+-"
    for (s = 1; s <= n_sources; s++) summarise(source_name[s], source_name[s])
    summarise("", "all")
    print "\nerror = predicted / measured - 1; efficiency against the smallest run of the series;"
    print "eff. pts = median difference of scaling efficiency in points; given = measured value used as input;"
    print "inside 90% = measured within the interval; +- = median half-width of the interval"
    for (s = 1; s <= n_sources; s++) {
        write_points(source_name[s], out "/source-" s ".dat")
        print s "|" source_name[s] > (out "/sources.txt")
    }
}
