# CSV cells with quotes, for the other awk scripts: awk -f csv.awk -f other.awk
# csv_split(LINE, CELLS) fills CELLS[1..n] and returns n; csv_columns(LINE, COLUMNS) fills COLUMNS[name] = place.
function csv_split(line, cells,    n, c, i, quoted, text) {
    sub(/\r$/, "", line)
    n = 1; text = ""; quoted = 0
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        if (quoted && c == "\"" && substr(line, i + 1, 1) == "\"") { text = text c; i++ }
        else if (c == "\"") quoted = !quoted
        else if (c == "," && !quoted) { cells[n++] = text; text = "" }
        else text = text c
    }
    cells[n] = text
    return n
}
function csv_columns(line, columns,    cells, n, i) {
    n = csv_split(line, cells)
    for (i = 1; i <= n; i++) columns[cells[i]] = i
    return n
}
