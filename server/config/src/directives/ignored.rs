//! Apache's words that have nothing to do here, and why. They are accepted, so that a site's
//! configuration need not be edited, and `mehari check` tells each with its reason.

use super::row::*;

const NO_THREADS: &str = "a worker is a process and runs one request at a time";
const NO_INTERPRETER_POOL: &str = "a worker has one interpreter";
const NO_LOCKS: &str = "one process accepts all connections, so nothing is locked";
const DATA_FIRST: &str =
    "connections are accepted with their first bytes, whichever protocol they speak";
const KERNEL: &str = "buffers are the kernel's choice";
const BY_ADDRESS: &str = "hosts of one address are told apart by name in any case";
const OWN_FILES: &str = "Mehari places its runtime files itself";
const NOT_NEGOTIATED: &str =
    "of several files of a name MultiViews takes the first by name, whatever its language";
const LIMIT_REQUEST_BODY: &str = "LimitRequestBody says how long a body may be";
const PROXY_TIMEOUT: &str = "ProxyTimeout says how long a program may be silent";
const BY_PROCESSES: &str = "FcgidMaxProcessesPerClass says how many processes a script has";
const WHILE_ASKED_FOR: &str = "a script's processes end five minutes after its last request";
const NOT_LISTED: &str = "folders are listed plainly: names, dates and sizes, by name";

pub const GROUP: Group = Group {
    title: "Ignored by design",
    rows: &[
        Directive::ignored("ServerLimit", "MaxRequestWorkers alone is the limit"),
        Directive::ignored("ThreadsPerChild", NO_THREADS),
        Directive::ignored("ThreadLimit", NO_THREADS),
        Directive::ignored("ThreadStackSize", NO_THREADS),
        Directive::ignored("MinSpareThreads", NO_THREADS),
        Directive::ignored("MaxSpareThreads", NO_THREADS),
        Directive::ignored("AsyncRequestWorkerFactor", NO_THREADS),
        Directive::ignored("ListenCoresBucketsRatio", NO_LOCKS),
        Directive::ignored("MaxMemFree", "memory goes back when a worker is replaced"),
        Directive::ignored("Mutex", NO_LOCKS),
        Directive::ignored("AcceptMutex", NO_LOCKS),
        Directive::ignored("AcceptFilter", DATA_FIRST),
        Directive::ignored("LockFile", NO_LOCKS),
        Directive::ignored("ScoreBoardFile", OWN_FILES),
        Directive::ignored("ScriptSock", OWN_FILES),
        Directive::ignored("DefaultRuntimeDir", OWN_FILES),
        Directive::ignored("DefaultStateDir", OWN_FILES),
        Directive::ignored("CoreDumpDirectory", "core dumps are the system's business"),
        Directive::ignored("SendBufferSize", KERNEL),
        Directive::ignored("ReceiveBufferSize", KERNEL),
        Directive::ignored("EnableMMAP", "the server chooses how a file is sent"),
        Directive::ignored("FcgidMaxRequestLen", LIMIT_REQUEST_BODY),
        Directive::ignored("FcgidMaxRequestInMem", "bodies beyond 64 KiB are in a file"),
        Directive::ignored("FcgidIOTimeout", PROXY_TIMEOUT),
        Directive::ignored("FcgidBusyTimeout", PROXY_TIMEOUT),
        Directive::ignored(
            "FcgidConnectTimeout",
            "requests wait for a program that starts",
        ),
        Directive::ignored("FcgidMaxProcesses", BY_PROCESSES),
        Directive::ignored("FcgidMinProcessesPerClass", BY_PROCESSES),
        Directive::ignored("FcgidIdleTimeout", WHILE_ASKED_FOR),
        Directive::ignored("FcgidIdleScanInterval", WHILE_ASKED_FOR),
        Directive::ignored("FcgidProcessLifeTime", WHILE_ASKED_FOR),
        Directive::ignored(
            "FcgidZombieScanInterval",
            "a process that ended is noticed at once",
        ),
        Directive::ignored(
            "FcgidOutputBufferSize",
            "what a program says goes on as it comes",
        ),
        Directive::ignored(
            "FcgidFixPathinfo",
            "PATH_INFO is what lies behind the script",
        ),
        Directive::ignored("FcgidIPCDir", OWN_FILES),
        Directive::ignored("FcgidProcessTableFile", OWN_FILES),
        Directive::ignored("NameVirtualHost", BY_ADDRESS),
        Directive::ignored("ServerSignature", "error pages are not signed"),
        Directive::ignored("ServerTokens", "the Server field cannot be chosen"),
        Directive::ignored("TraceEnable", "TRACE is never served"),
        Directive::ignored(
            "ErrorLogFormat",
            "every line of the error log has the form that docs/logs.md shows",
        ),
        Directive::ignored("ProxyStatus", "`mehari status` always says all"),
        Directive::ignored("ExtendedStatus", "`mehari status` always says all"),
        Directive::ignored("MIMEMagicFile", "media types are told by suffix"),
        Directive::ignored("AddLanguage", NOT_NEGOTIATED),
        Directive::ignored("DefaultLanguage", NOT_NEGOTIATED),
        Directive::ignored("LanguagePriority", NOT_NEGOTIATED),
        Directive::ignored("ForceLanguagePriority", NOT_NEGOTIATED),
        Directive::ignored("IndexOptions", NOT_LISTED),
        Directive::ignored("IndexIgnore", NOT_LISTED),
        Directive::ignored("IndexOrderDefault", NOT_LISTED),
        Directive::ignored("AddIcon", NOT_LISTED),
        Directive::ignored("AddIconByType", NOT_LISTED),
        Directive::ignored("AddIconByEncoding", NOT_LISTED),
        Directive::ignored("AddDescription", NOT_LISTED),
        Directive::ignored("DefaultIcon", NOT_LISTED),
        Directive::ignored("HeaderName", NOT_LISTED),
        Directive::ignored("ReadmeName", NOT_LISTED),
        Directive::ignored("PerlInterpScope", NO_INTERPRETER_POOL),
        Directive::ignored(
            "PerlFreshRestart",
            "a reload always begins with a fresh perl",
        ),
        Directive::ignored("PerlTrace", "mod_perl's own tracing"),
        Directive::ignored("ReadBufferSize", "buffers are sized by the server itself"),
        Directive::ignored(
            "FlushMaxThreshold",
            "buffers are sized by the server itself",
        ),
        Directive::ignored(
            "FlushMaxPipelined",
            "buffers are sized by the server itself",
        ),
        Directive::ignored(
            "ProxyIOBufferSize",
            "buffers are sized by the server itself",
        ),
        Directive::ignored(
            "ProxyReceiveBufferSize",
            "buffers are sized by the server itself",
        ),
        Directive::ignored("LimitXMLRequestBody", "nothing here parses XML bodies"),
        Directive::ignored("RegisterHttpMethod", "a method needs no registration"),
        Directive::ignored(
            "BufferedLogs",
            "log lines always collect in memory for a moment",
        ),
        Directive::ignored(
            "ScriptLog",
            "the error log holds what programs say on standard error",
        ),
        Directive::ignored(
            "ScriptLogLength",
            "the error log holds what programs say on standard error",
        ),
        Directive::ignored(
            "ScriptLogBuffer",
            "the error log holds what programs say on standard error",
        ),
        Directive::ignored(
            "H2MaxSessionStreams",
            "HTTP/2's windows, frames and workers are the server's own",
        ),
        Directive::ignored(
            "H2WindowSize",
            "HTTP/2's windows, frames and workers are the server's own",
        ),
        Directive::ignored(
            "H2MinWorkers",
            "HTTP/2's windows, frames and workers are the server's own",
        ),
        Directive::ignored(
            "H2MaxWorkers",
            "HTTP/2's windows, frames and workers are the server's own",
        ),
        Directive::ignored(
            "H2MaxWorkerIdleSeconds",
            "HTTP/2's windows, frames and workers are the server's own",
        ),
        Directive::ignored(
            "H2StreamMaxMemSize",
            "HTTP/2's windows, frames and workers are the server's own",
        ),
        Directive::ignored(
            "H2SerializeHeaders",
            "HTTP/2's windows, frames and workers are the server's own",
        ),
        Directive::ignored(
            "H2SessionExtraFiles",
            "HTTP/2's windows, frames and workers are the server's own",
        ),
        Directive::ignored(
            "H2TLSWarmUpSize",
            "HTTP/2's windows, frames and workers are the server's own",
        ),
        Directive::ignored(
            "H2TLSCoolDownSecs",
            "HTTP/2's windows, frames and workers are the server's own",
        ),
        Directive::ignored(
            "H2CopyFiles",
            "HTTP/2's windows, frames and workers are the server's own",
        ),
        Directive::ignored(
            "H2Padding",
            "HTTP/2's windows, frames and workers are the server's own",
        ),
        Directive::ignored(
            "H2OutputBuffering",
            "HTTP/2's windows, frames and workers are the server's own",
        ),
        Directive::ignored(
            "H2StreamTimeout",
            "HTTP/2's windows, frames and workers are the server's own",
        ),
        Directive::ignored(
            "H2MaxDataFrameLen",
            "HTTP/2's windows, frames and workers are the server's own",
        ),
        Directive::ignored(
            "H2MaxHeaderBlockLen",
            "HTTP/2's windows, frames and workers are the server's own",
        ),
        Directive::ignored(
            "H2MaxStreamErrors",
            "HTTP/2's windows, frames and workers are the server's own",
        ),
        Directive::ignored(
            "H2Push",
            "browsers no longer take pushed responses, and none are sent",
        ),
        Directive::ignored(
            "H2PushPriority",
            "browsers no longer take pushed responses, and none are sent",
        ),
        Directive::ignored(
            "H2PushDiarySize",
            "browsers no longer take pushed responses, and none are sent",
        ),
        Directive::ignored(
            "H2PushResource",
            "browsers no longer take pushed responses, and none are sent",
        ),
        Directive::ignored(
            "CacheSocache",
            "CacheSize and CacheMaxFileSize bound the one store",
        ),
        Directive::ignored(
            "CacheSocacheMaxTime",
            "CacheSize and CacheMaxFileSize bound the one store",
        ),
        Directive::ignored(
            "CacheSocacheMinTime",
            "CacheSize and CacheMaxFileSize bound the one store",
        ),
        Directive::ignored(
            "CacheSocacheMaxSize",
            "CacheSize and CacheMaxFileSize bound the one store",
        ),
        Directive::ignored(
            "CacheSocacheReadSize",
            "CacheSize and CacheMaxFileSize bound the one store",
        ),
        Directive::ignored(
            "CacheSocacheReadTime",
            "CacheSize and CacheMaxFileSize bound the one store",
        ),
        Directive::ignored(
            "AddAlt",
            "folders are listed plainly: names, dates and sizes, by name",
        ),
        Directive::ignored(
            "AddAltByType",
            "folders are listed plainly: names, dates and sizes, by name",
        ),
        Directive::ignored(
            "AddAltByEncoding",
            "folders are listed plainly: names, dates and sizes, by name",
        ),
        Directive::ignored(
            "IndexIgnoreReset",
            "folders are listed plainly: names, dates and sizes, by name",
        ),
        Directive::ignored(
            "FancyIndexing",
            "folders are listed plainly: names, dates and sizes, by name",
        ),
        Directive::ignored(
            "IndexStyleSheet",
            "folders are listed plainly: names, dates and sizes, by name",
        ),
        Directive::ignored(
            "IndexHeadInsert",
            "folders are listed plainly: names, dates and sizes, by name",
        ),
        Directive::ignored(
            "SeeRequestTail",
            "`mehari status` shows whole request lines",
        ),
        Directive::ignored(
            "ListenTCPDeferAccept",
            "connections are accepted with their first bytes anyway",
        ),
        Directive::ignored(
            "MacroIgnoreEmptyArgs",
            "arguments of macros are checked in any case",
        ),
        Directive::ignored(
            "MacroIgnoreBadNesting",
            "arguments of macros are checked in any case",
        ),
        Directive::ignored("WatchdogInterval", "no module needs a watchdog"),
        Directive::ignored(
            "FcgidBusyScanInterval",
            "the server decides how many processes of a program run, and when they end",
        ),
        Directive::ignored(
            "FcgidErrorScanInterval",
            "the server decides how many processes of a program run, and when they end",
        ),
        Directive::ignored(
            "FcgidSpawnScore",
            "the server decides how many processes of a program run, and when they end",
        ),
        Directive::ignored(
            "FcgidSpawnScoreUpLimit",
            "the server decides how many processes of a program run, and when they end",
        ),
        Directive::ignored(
            "FcgidTerminationScore",
            "the server decides how many processes of a program run, and when they end",
        ),
        Directive::ignored(
            "FcgidTimeScore",
            "the server decides how many processes of a program run, and when they end",
        ),
    ],
};
