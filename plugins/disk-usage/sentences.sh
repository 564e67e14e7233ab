# What disk-usage says, in the language of the request. Formats of printf, but for those of report.awk with {mount}.
case ${HERMES_LOCALE:-en} in
zh)
    READING='正在读取挂载表'
    ASKING='正在查看第 %s 个文件系统，共 %s 个'
    NEARLY_FULL='{mount} 已用 {percent}%，快满了。'
    SILENT='{mount} 没有及时回答。'
    ABSENT='没有 %s 这个路径，或者 Hermes 看不到它'
    DISKLESS='%s 不在任何磁盘上'
    DENIED='不允许查看 %s：只能查看 plugins.disk-usage.allowed 中的路径'
    RELATIVE='%s 不是绝对路径：请从 / 开始写'
    NO_TABLE='读不到这台机器的挂载表%s'
    NOTHING='没有可以查看的文件系统%s'
    ;;
*)
    READING='Reading the table of mounts'
    ASKING='Looking at file system %s of %s'
    NEARLY_FULL='{mount} is {percent}% full.'
    SILENT='{mount} gave no answer in time.'
    ABSENT='There is no path %s, or Hermes may not look at it'
    DISKLESS='%s lies on no disk'
    DENIED='%s may not be looked at: only the paths in plugins.disk-usage.allowed may'
    RELATIVE='%s is no absolute path: begin it with /'
    NO_TABLE='The table of mounts of this machine cannot be read%s'
    NOTHING='There is no file system to look at%s'
    ;;
esac
