# awk -v names="a b c" -f csv.awk -f columns.awk: these columns, separated by blanks
NR == 1 {
    n = split(names, wanted, " ")
    csv_columns($0, place)
    for (i = 1; i <= n; i++)
        if (!(wanted[i] in place)) { print "columns: no column " wanted[i] > "/dev/stderr"; exit 1 }
    next
}
{
    csv_split($0, cells)
    for (i = 1; i <= n; i++) printf "%s%s", cells[place[wanted[i]]], (i < n ? " " : "\n")
}
