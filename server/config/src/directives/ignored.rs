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
    ],
};
