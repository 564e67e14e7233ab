# Finds texts in a JSON document: prints each whose JSON Pointer matches `wanted`, a line each, as `printf %b` undoes it.
# It reads what another program has written, and checks nothing. To be run with LC_ALL=C: it goes by bytes.

{ json = json $0 "\n" }

END {
    at = 1
    value("")
}

function value(pointer,    sign) {
    sign = next_sign()
    if (sign == "{") members(pointer)
    else if (sign == "[") items(pointer)
    else if (sign != "\"") number_or_word()
    else if (pointer ~ wanted) print escaped(string())
    else skip_string()
}

function members(pointer,    name) {
    at++
    while (next_sign() == "\"") {
        name = string()
        gsub(/~/, "~0", name)
        gsub("/", "~1", name)
        next_sign() # the colon
        at++
        value(pointer "/" name)
        if (next_sign() == ",") at++
    }
    at++
}

function items(pointer,    number, sign) {
    at++
    while ((sign = next_sign()) != "]" && sign != "") {
        value(pointer "/" (number + 0))
        number++
        if (next_sign() == ",") at++
    }
    at++
}

function next_sign(    sign) {
    while ((sign = substr(json, at, 1)) != "" && index(" \t\r\n", sign)) at++
    return sign
}

function number_or_word() {
    at += match(substr(json, at, 400), /^[-+.0-9A-Za-z]+/) ? RLENGTH : 1
}

# What is not wanted is passed over: putting a long text together from its pieces takes long.
function skip_string(    sign) {
    at++
    while ((sign = substr(json, at, 1)) != "\"" && sign != "")
        at += sign == "\\" ? 2 : plain_bytes()
    at++
}

function string(    text, sign, length_) {
    at++
    while ((sign = substr(json, at, 1)) != "\"" && sign != "") {
        if (sign == "\\") text = text unescaped()
        else {
            length_ = plain_bytes()
            text = text substr(json, at, length_)
            at += length_
        }
    }
    at++
    return text
}

function plain_bytes() {
    match(substr(json, at, 1000), /^[^"\\]+/)
    return RLENGTH
}

function unescaped(    sign, code) {
    sign = substr(json, at + 1, 1)
    at += 2
    if (sign == "n") return "\n"
    if (sign == "t") return "\t"
    if (sign == "r") return "\r"
    if (sign == "b") return "\b"
    if (sign == "f") return "\f"
    if (sign != "u") return sign
    code = unit()
    if (code >= 55296 && code < 56320) { # the first half of a pair, \ud83d\ude00
        at += 2
        code = 65536 + (code - 55296) * 1024 + unit() - 56320
    }
    return utf8(code)
}

function unit(    code, end) {
    for (end = at + 4; at < end; at++)
        code = code * 16 + index("0123456789abcdef", tolower(substr(json, at, 1))) - 1
    return code
}

function utf8(code) {
    if (code == 0) code = 65533 # no path and no variable of a shell can hold it
    if (code < 128) return sprintf("%c", code)
    if (code < 2048) return sprintf("%c%c", 192 + int(code / 64), 128 + code % 64)
    if (code < 65536)
        return sprintf("%c%c%c", 224 + int(code / 4096), 128 + int(code / 64) % 64, 128 + code % 64)
    return sprintf("%c%c%c%c", 240 + int(code / 262144), 128 + int(code / 4096) % 64, \
        128 + int(code / 64) % 64, 128 + code % 64)
}

function escaped(text) {
    gsub(/\\/, "\\0134", text)
    gsub("\n", "\\0012", text)
    return text
}
