# Per series: what demo.awk left in source-K.dat, as tables in Markdown. Errors are in percent, signed
# where one run is meant; a given run is no prediction and is only looked at for whether it comes back.
function abs(x) { return x < 0 ? -x : x }
function median(list, n,    i, j, x) {
    for (i = 2; i <= n; i++) {
        x = list[i]
        for (j = i - 1; j >= 1 && list[j] > x; j--) list[j + 1] = list[j]
        list[j + 1] = x
    }
    return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
function finish() {
    if (series == "") return
    printf "| %s | %d | %d | %.1f | %+.1f | %.1f |\n", series, most, n, median(errors, n), worst, median(points, n)
    n = most = worst = 0
}
BEGIN {
    print "\n## Every series\n"
    print "| series | GPUs, up to | runs | median error, % | worst error, % | efficiency, points (median) |"
    print "|---|---|---|---|---|---|"
}
/^"/ { finish(); split($0, quoted, "\""); series = quoted[2]; next }
/^[0-9]/ && $4 {
    n_given++
    if (abs($9) > 0.5) off = off sprintf("%s%s %+.1f %%", off == "" ? "" : ", ", series, $9)
    else n_back++
}
/^[0-9]/ && !$4 {
    n++
    errors[n] = abs($9)
    points[n] = abs($5 - $6)
    if (abs($9) > abs(worst)) worst = $9
    if ($1 > most) most = $1
}
END {
    finish()
    printf "\nThe given run comes back to 0.5 %% in %d of %d series", n_back, n_given
    print off == "" ? "." : "; not in these, whose other runs are off by as much from the start: " off "."
}
