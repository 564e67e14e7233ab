# Prints the envelope. Reads a line for each file system, with numbers of blocks: `size-of-a-block all free available
# mount-point`; or `silent mount-point` for one that gave no answer. With CODE in the environment it is an error, and
# nothing is read. The sentences are in the environment too. To be run with LC_ALL=C: it goes by bytes.

BEGIN {
    if (ENVIRON["CODE"] != "") {
        print "{\"data\":null,\"error\":{\"code\":" quoted(ENVIRON["CODE"]) ",\"message\":" quoted(ENVIRON["MESSAGE"]) \
            ",\"retryable\":false},\"warning\":null}"
        failed = 1
        exit
    }
    FULL = 90 # percent
}

$1 == "silent" { warn(ENVIRON["SILENT"], plain($2)); next }

{
    used = ($2 - $3) * $1
    available = $4 * $1
    percent = used + available > 0 ? sprintf("%.1f", 100 * used / (used + available)) : "0.0"
    name = plain($5)
    row = sprintf(",\"size\":%.0f,\"used\":%.0f,\"available\":%.0f,\"percent\":%s}", $2 * $1, used, available, percent)
    for (at = ++count; at > 1 && percents[at - 1] < percent + 0; at--) move(at - 1, at) # the fullest first
    rows[at] = "{\"mount\":" quoted(name) row
    percents[at] = percent + 0
    names[at] = name
}

END {
    if (failed) exit
    for (at = 1; at <= count; at++) {
        list = list (at > 1 ? "," : "") rows[at]
        if (percents[at] > FULL) warn(ENVIRON["NEARLY_FULL"], names[at], percents[at])
    }
    print "{\"data\":{\"filesystems\":[" list "]},\"error\":null,\"warning\":" \
        (warnings == "" ? "null" : quoted(warnings)) "}"
}

function move(from, to) {
    rows[to] = rows[from]
    percents[to] = percents[from]
    names[to] = names[from]
}

function warn(sentence, name, percent) {
    warnings = warnings (warnings == "" ? "" : " ") filled(filled(sentence, "{percent}", percent), "{mount}", name)
}

function filled(sentence, place, content,    at) {
    at = index(sentence, place)
    return at ? substr(sentence, 1, at - 1) content substr(sentence, at + length(place)) : sentence
}

# A name as the table of mounts has it, \040 for a space, as it is.
function plain(name,    text, at) {
    while (at = index(name, "\\")) {
        text = text substr(name, 1, at - 1) \
            sprintf("%c", 64 * substr(name, at + 1, 1) + 8 * substr(name, at + 2, 1) + substr(name, at + 3, 1))
        name = substr(name, at + 4)
    }
    return text name
}
