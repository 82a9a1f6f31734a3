# Exit 0 if the input is one JSON value: strings, then numbers and words become V, members K:V, and
# brackets are reduced from the inside until one V is left.
{ text = text $0 "\n" }
END {
    gsub(/"([^"\\]|\\.)*"/, "S", text)
    gsub(/[ \t\r\n]+/, "", text)
    gsub(/-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/, "V", text)
    gsub(/true|false|null/, "V", text)
    gsub(/S:/, "K:", text)
    gsub(/S/, "V", text)
    while (gsub(/\[(V(,V)*)?\]/, "V", text) + gsub(/\{(K:V(,K:V)*)?\}/, "V", text)) continue
    exit text != "V"
}
