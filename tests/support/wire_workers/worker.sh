#!/bin/sh
# A whole worker in POSIX shell, for a manifest with "concurrency": 1. It reads frames with sed: good enough for what
# Hermes writes, which has no blanks between members, and for a payload whose text has no quotes in it.
answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
tell() { printf '{"jsonrpc":"2.0","method":"%s","params":{"call":"%s",%s}}\n' "$1" "$call" "$2"; }
member() { printf '%s' "$line" | sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p'; }

handle() {
    call=$(member call) text=$(member text)
    case $text in
        fail*) answer '"error":{"code":-32000,"message":"坏了: it broke"}' ;;
        large*) answer "\"result\":\"$(head -c 2000000 /dev/zero | tr '\0' x)\"" ;;
        die*) echo 'about to fall' >&2 && kill -SEGV $$ ;;
        wait*)
            tell progress '"text":"waiting"'
            while IFS= read -r line; do
                case $line in *'"method":"cancel"'*) break ;; esac
            done
            answer '"error":{"code":-32800,"message":"cancelled"}'
            ;;
        *)
            tell progress '"text":"正在看","percent":40'
            tell log '"level":"warning","text":"慢"'
            answer "\"result\":{\"data\":\"$text\",\"error\":null}"
            ;;
    esac
}

while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\),.*/\1/p')
    case $line in
        *'"method":"initialize"'*) answer '"result":{"protocol":1}' ;;
        *'"method":"handle"'*) handle ;;
        *'"method":"ping"'*) answer '"result":{}' ;;
        *) [ -z "$id" ] || answer '"error":{"code":-32601,"message":"no such method"}' ;;
    esac
done
