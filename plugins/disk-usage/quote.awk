# `quoted(text)` is a text as JSON has it. What is no UTF-8 becomes U+FFFD. To be run with LC_ALL=C: it goes by bytes.

BEGIN {
    for (code_ = 1; code_ < 32; code_++) control_[sprintf("%c", code_)] = sprintf("\\u%04x", code_)
    more_ = "[\200-\277]"
    character_ = "^([\302-\337]" more_ "|\340[\240-\277]" more_ "|[\341-\354\356\357]" more_ more_ \
        "|\355[\200-\237]" more_ "|\360[\220-\277]" more_ more_ "|[\361-\363]" more_ more_ more_ \
        "|\364[\200-\217]" more_ more_ ")"
}

function quoted(text,    out, sign, at) {
    for (at = 1; (sign = substr(text, at, 1)) != ""; at++) {
        if (sign == "\"" || sign == "\\") out = out "\\" sign
        else if (sign in control_) out = out control_[sign]
        else if (sign < "\200") out = out sign
        else if (match(substr(text, at, 4), character_)) {
            out = out substr(text, at, RLENGTH)
            at += RLENGTH - 1
        }
        else out = out "\357\277\275"
    }
    return "\"" out "\""
}
