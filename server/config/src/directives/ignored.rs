//! The directives of Apache that have no effect in Mehari, with reasons. Mehari accepts them so
//! that a site need not edit its configuration. `mehari check` lists them.

use super::row::*;

const NO_THREADS: &str = "a worker is a process and runs one request at a time";
const NO_INTERPRETER_POOL: &str = "a worker has one interpreter";
const NO_LOCKS: &str = "one process accepts all connections, so nothing is locked";
const DATA_FIRST: &str = "a connection of any protocol is accepted when its first bytes arrive";
const KERNEL: &str = "the kernel sizes the buffers";
const BY_ADDRESS: &str = "hosts of one address are always told apart by name";
const OWN_FILES: &str = "Mehari places its runtime files itself";
const LIMIT_REQUEST_BODY: &str = "LimitRequestBody says how long a body may be";
const PROXY_TIMEOUT: &str = "ProxyTimeout says how long a program may be silent";
const BY_PROCESSES: &str = "FcgidMaxProcessesPerClass says how many processes a script has";
const WHILE_ASKED_FOR: &str = "a script's processes end five minutes after its last request";
const NOT_LISTED: &str = "listings are plain: names, dates and sizes, sorted by name";

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
        Directive::ignored(
            "MaxMemFree",
            "a worker's memory is freed when the worker is replaced",
        ),
        Directive::ignored("Mutex", NO_LOCKS),
        Directive::ignored("AcceptMutex", NO_LOCKS),
        Directive::ignored("AcceptFilter", DATA_FIRST),
        Directive::ignored("LockFile", NO_LOCKS),
        Directive::ignored("ScoreBoardFile", OWN_FILES),
        Directive::ignored("ScriptSock", OWN_FILES),
        Directive::ignored("DefaultRuntimeDir", OWN_FILES),
        Directive::ignored("DefaultStateDir", OWN_FILES),
        Directive::ignored("CoreDumpDirectory", "the system decides about core dumps"),
        Directive::ignored("SendBufferSize", KERNEL),
        Directive::ignored("ReceiveBufferSize", KERNEL),
        Directive::ignored("EnableMMAP", "the server chooses how a file is sent"),
        Directive::ignored("FcgidMaxRequestLen", LIMIT_REQUEST_BODY).aliases(&["MaxRequestLen"]),
        Directive::ignored("FcgidMaxRequestInMem", "bodies beyond 64 KiB go to a file")
            .aliases(&["MaxRequestInMem"]),
        Directive::ignored("FcgidIOTimeout", PROXY_TIMEOUT).aliases(&["IPCCommTimeout"]),
        Directive::ignored("FcgidBusyTimeout", PROXY_TIMEOUT).aliases(&["BusyTimeout"]),
        Directive::ignored(
            "FcgidConnectTimeout",
            "requests wait for a program that starts",
        )
        .aliases(&["IPCConnectTimeout"]),
        Directive::ignored("FcgidMaxProcesses", BY_PROCESSES).aliases(&["MaxProcessCount"]),
        Directive::ignored("FcgidMinProcessesPerClass", BY_PROCESSES)
            .aliases(&["DefaultMinClassProcessCount"]),
        Directive::ignored("FcgidIdleTimeout", WHILE_ASKED_FOR).aliases(&["IdleTimeout"]),
        Directive::ignored("FcgidIdleScanInterval", WHILE_ASKED_FOR).aliases(&["IdleScanInterval"]),
        Directive::ignored("FcgidProcessLifeTime", WHILE_ASKED_FOR).aliases(&["ProcessLifeTime"]),
        Directive::ignored(
            "FcgidZombieScanInterval",
            "the server notices the end of a process at once",
        )
        .aliases(&["ZombieScanInterval"]),
        Directive::ignored(
            "FcgidMaxRequestsPerProcess",
            "a process ends by itself, or five minutes after the last request of its script",
        )
        .aliases(&["MaxRequestsPerProcess"]),
        Directive::ignored(
            "FcgidOutputBufferSize",
            "a program's output is forwarded as it arrives",
        )
        .aliases(&["OutputBufferSize"]),
        Directive::ignored(
            "FcgidFixPathinfo",
            "PATH_INFO is the rest of the path after the script",
        )
        .aliases(&["PHP_Fix_Pathinfo_Enable"]),
        Directive::ignored("FcgidIPCDir", OWN_FILES).aliases(&["SocketPath"]),
        Directive::ignored("FcgidProcessTableFile", OWN_FILES).aliases(&["SharememPath"]),
        Directive::ignored("NameVirtualHost", BY_ADDRESS),
        Directive::ignored(
            "ServerPath",
            "hosts are told apart by name, and the first host of an address answers requests \
             without a Host field",
        ),
        Directive::ignored("ServerSignature", "error pages are not signed"),
        Directive::ignored("ServerTokens", "the Server field cannot be chosen"),
        Directive::ignored("TraceEnable", "TRACE is never served"),
        Directive::ignored(
            "ErrorLogFormat",
            "every line of the error log has the form that docs/reference/logs.md shows",
        ),
        Directive::ignored("ProxyStatus", "`mehari status` always shows everything"),
        Directive::ignored("ExtendedStatus", "`mehari status` always shows everything"),
        Directive::ignored("MIMEMagicFile", "suffixes decide the media type"),
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
        Directive::ignored(
            "PerlTrace",
            "mod_perl's own tracing has no counterpart here",
        ),
        Directive::ignored("ReadBufferSize", "the server sizes its buffers"),
        Directive::ignored("FlushMaxThreshold", "the server sizes its buffers"),
        Directive::ignored("FlushMaxPipelined", "the server sizes its buffers"),
        Directive::ignored("ProxyIOBufferSize", "the server sizes its buffers"),
        Directive::ignored("ProxyReceiveBufferSize", "the server sizes its buffers"),
        Directive::ignored("LimitXMLRequestBody", "the server parses no XML bodies"),
        Directive::ignored("RegisterHttpMethod", "a method needs no registration"),
        Directive::ignored(
            "BufferedLogs",
            "log lines always stay in memory for a moment before they are written",
        ),
        Directive::ignored(
            "ScriptLog",
            "the error log has the programs' standard error",
        ),
        Directive::ignored(
            "ScriptLogLength",
            "the error log has the programs' standard error",
        ),
        Directive::ignored(
            "ScriptLogBuffer",
            "the error log has the programs' standard error",
        ),
        Directive::ignored(
            "H2MaxSessionStreams",
            "the server chooses HTTP/2's windows and frames",
        ),
        Directive::ignored(
            "H2WindowSize",
            "the server chooses HTTP/2's windows and frames",
        ),
        Directive::ignored(
            "H2MinWorkers",
            "the server chooses HTTP/2's windows and frames",
        ),
        Directive::ignored(
            "H2MaxWorkers",
            "the server chooses HTTP/2's windows and frames",
        ),
        Directive::ignored(
            "H2MaxWorkerIdleSeconds",
            "the server chooses HTTP/2's windows and frames",
        ),
        Directive::ignored(
            "H2StreamMaxMemSize",
            "the server chooses HTTP/2's windows and frames",
        ),
        Directive::ignored(
            "H2SerializeHeaders",
            "the server chooses HTTP/2's windows and frames",
        ),
        Directive::ignored(
            "H2SessionExtraFiles",
            "the server chooses HTTP/2's windows and frames",
        ),
        Directive::ignored(
            "H2TLSWarmUpSize",
            "the server chooses HTTP/2's windows and frames",
        ),
        Directive::ignored(
            "H2TLSCoolDownSecs",
            "the server chooses HTTP/2's windows and frames",
        ),
        Directive::ignored(
            "H2CopyFiles",
            "the server chooses HTTP/2's windows and frames",
        ),
        Directive::ignored(
            "H2Padding",
            "the server chooses HTTP/2's windows and frames",
        ),
        Directive::ignored(
            "H2OutputBuffering",
            "the server chooses HTTP/2's windows and frames",
        ),
        Directive::ignored(
            "H2StreamTimeout",
            "the server chooses HTTP/2's windows and frames",
        ),
        Directive::ignored(
            "H2MaxDataFrameLen",
            "the server chooses HTTP/2's windows and frames",
        ),
        Directive::ignored(
            "H2MaxHeaderBlockLen",
            "the server chooses HTTP/2's windows and frames",
        ),
        Directive::ignored(
            "H2MaxStreamErrors",
            "the server chooses HTTP/2's windows and frames",
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
            "CacheSize and CacheMaxFileSize limit the only store",
        ),
        Directive::ignored(
            "CacheSocacheMaxTime",
            "CacheSize and CacheMaxFileSize limit the only store",
        ),
        Directive::ignored(
            "CacheSocacheMinTime",
            "CacheSize and CacheMaxFileSize limit the only store",
        ),
        Directive::ignored(
            "CacheSocacheMaxSize",
            "CacheSize and CacheMaxFileSize limit the only store",
        ),
        Directive::ignored(
            "CacheSocacheReadSize",
            "CacheSize and CacheMaxFileSize limit the only store",
        ),
        Directive::ignored(
            "CacheSocacheReadTime",
            "CacheSize and CacheMaxFileSize limit the only store",
        ),
        Directive::ignored(
            "AddAlt",
            "listings are plain: names, dates and sizes, sorted by name",
        ),
        Directive::ignored(
            "AddAltByType",
            "listings are plain: names, dates and sizes, sorted by name",
        ),
        Directive::ignored(
            "AddAltByEncoding",
            "listings are plain: names, dates and sizes, sorted by name",
        ),
        Directive::ignored(
            "FancyIndexing",
            "listings are plain: names, dates and sizes, sorted by name",
        ),
        Directive::ignored(
            "IndexStyleSheet",
            "listings are plain: names, dates and sizes, sorted by name",
        ),
        Directive::ignored(
            "IndexHeadInsert",
            "listings are plain: names, dates and sizes, sorted by name",
        ),
        Directive::ignored(
            "SeeRequestTail",
            "`mehari status` shows whole request lines",
        ),
        Directive::ignored(
            "ListenTCPDeferAccept",
            "a connection is always accepted when its first bytes arrive",
        ),
        Directive::ignored(
            "MacroIgnoreEmptyArgs",
            "arguments of macros are always checked",
        ),
        Directive::ignored(
            "MacroIgnoreBadNesting",
            "arguments of macros are always checked",
        ),
        Directive::ignored("WatchdogInterval", "no module needs a watchdog"),
        Directive::ignored(
            "FcgidBusyScanInterval",
            "the server decides how many processes of a program run, and when they end",
        )
        .aliases(&["BusyScanInterval"]),
        Directive::ignored(
            "FcgidErrorScanInterval",
            "the server decides how many processes of a program run, and when they end",
        )
        .aliases(&["ErrorScanInterval"]),
        Directive::ignored(
            "FcgidSpawnScore",
            "the server decides how many processes of a program run, and when they end",
        )
        .aliases(&["SpawnScore"]),
        Directive::ignored(
            "FcgidSpawnScoreUpLimit",
            "the server decides how many processes of a program run, and when they end",
        )
        .aliases(&["SpawnScoreUpLimit"]),
        Directive::ignored(
            "FcgidTerminationScore",
            "the server decides how many processes of a program run, and when they end",
        )
        .aliases(&["TerminationScore"]),
        Directive::ignored(
            "FcgidTimeScore",
            "the server decides how many processes of a program run, and when they end",
        )
        .aliases(&["TimeScore"]),
    ],
};
