#!/bin/sh
# Tells how full the mounted file systems are, or the one that a path lies on. It asks file systems, and walks no folder.
# What people write stays in quoted variables and is given to programs behind `--`: it is never code and never an option.
set -u -f
LC_ALL=C
NEWLINE='
'
IFS=$NEWLINE
PATIENCE=2 # seconds for a file system to answer: a dead network mount would hold the call for minutes
. ./sentences.sh
export LC_ALL NEARLY_FULL SILENT

main() {
    path=$(texts '^/payload/path$')
    read_config
    progress 10 "$READING"
    [ -r "$table" ] || fail not_configured "$NO_TABLE" ''
    mounts=$(awk -f ./mounts.awk <"$table")
    rows='' numbers=''
    if [ -n "$path" ]; then
        decode "$path"
        look_at "$decoded"
    else
        look_around
        [ -n "$rows" ] || fail not_found "$NOTHING" ''
    fi
    printf '%s' "$rows" | awk -f ./quote.awk -f ./report.awk
}

read_config() {
    config=${HERMES_CONFIG:-"{}"}
    table=$(printf '%s\n' "$config" | texts '^/mountinfo$')
    decode "${table:-/proc/self/mountinfo}"
    table=$decoded
    allowed=$(printf '%s\n' "$config" | texts '^/allowed/[0-9]+$')
}

look_at() { # a path: the file system that it lies on is the only one
    case $1 in
    /*) ;;
    *) fail invalid_payload "$RELATIVE" "$1" ;;
    esac
    resolve "$1" || fail not_found "$ABSENT" "$1"
    place=$resolved
    permits "$place" || fail upstream_denied "$DENIED" "$1"
    in_time test -e "$place" || fail not_found "$ABSENT" "$1"
    find_mount "$place"
    progress 50 "$ASKING" 1 1
    ask "$place" "$mount"
    case $mount:$numbers in
    :* | *' 0 0 0') fail not_found "$DISKLESS" "$1" ;;
    esac
}

look_around() { # every device once, by its first mount that is a folder
    seen=' ' number=0
    # shellcheck disable=SC2086 # lines become words
    set -- $(wanted)
    for line; do
        number=$((number + 1))
        device=${line%% *}
        case $seen in *" $device "*) continue ;; esac
        progress $((10 + 80 * number / $#)) "$ASKING" "$number" $#
        decode_point "${line#* }"
        ask "$decoded/" "${line#* }" # the slash: files are mounts in containers
        [ -z "$numbers" ] || seen="$seen$device "
    done
}

wanted() { # prints `device mount-point` of what to look at
    for line in $mounts; do
        case $line in real*) ;; *) continue ;; esac
        decode_point "${line##* }"
        permits "$decoded" && printf '%s\n' "${line#* }"
    done
    for entry in $allowed; do
        decode "$entry"
        resolve "$decoded" && find_mount "$resolved" && printf '%s\n' "$device $mount"
    done
}

ask() { # a path, its mount point as the table has it: adds a row for report.awk, sets `numbers` to what is in it
    numbers=$(in_time stat -f -c '%S %b %f %a' -- "$1")
    case $? in
    0) ;;
    124 | 137) numbers=silent ;;
    *) return ;;
    esac
    rows="$rows$numbers $2$NEWLINE"
}

permits() { # a resolved path
    [ -n "$allowed" ] || return 0
    for entry in $allowed; do
        decode "$entry"
        resolve "$decoded" && lies_in "$1" "$resolved" && return
    done
    return 1
}

find_mount() { # a resolved path: sets `mount` and `device` to those that it lies on, as the table has them
    mount='' device='' length=0
    for row in $mounts; do
        decode_point "${row##* }"
        if lies_in "$1" "$decoded" && [ ${#decoded} -gt "$length" ]; then
            mount=${row##* } length=${#decoded} device=${row#* }
            device=${device%% *}
        fi
    done
    [ -n "$mount" ]
}

resolve() { # sets `resolved` to a path without links, `.` and `..`, whether it is there or not
    resolved=$(in_time realpath -m -- "$1" && echo .) || return 1
    resolved=${resolved%"$NEWLINE".}
}

lies_in() { # a path, a folder
    case ${1%/}/ in
    "${2%/}"/*) ;;
    *) return 1 ;;
    esac
}

in_time() {
    timeout --foreground --signal=KILL "$PATIENCE" "$@" 2>/dev/null
}

texts() { # JSON on stdin, a pattern of JSON Pointers: prints a line for each text
    awk -v wanted="$1" -f ./json.awk
}

decode() { # sets `decoded` to a text that json.awk has printed; the dot keeps newlines at its end
    decoded=$(printf '%b.' "$1")
    decoded=${decoded%.}
}

decode_point() { # \040 of the table is \0040 for printf
    case $1 in
    *\\*) decode "$(printf '%s\n' "$1" | sed 's/\\/\\0/g')" ;;
    *) decoded=$1 ;;
    esac
}

progress() { # percent, a sentence and what goes into it
    percent=$1 sentence=$2
    shift 2
    # shellcheck disable=SC2059 # the sentences are our own
    printf "::progress $percent:: $sentence\n" "$@" >&2
}

fail() { # a code, a sentence, the path that goes into it: prints the envelope and ends
    # shellcheck disable=SC2059
    MESSAGE=$(printf "$2" "$3")
    CODE=$1 MESSAGE=$MESSAGE awk -f ./quote.awk -f ./report.awk </dev/null
    exit
}

main
