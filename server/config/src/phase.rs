//! The phases of a request and of a server in which Perl handlers run, and `PerlOptions`.

/// The phases in which Perl handlers run, in the order of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub enum Phase {
    PostReadRequest,
    Trans,
    MapToStorage,
    HeaderParser,
    Access,
    Authen,
    Authz,
    Type,
    Fixup,
    InputFilter,
    OutputFilter,
    Response,
    Log,
    Cleanup,
    /// The phase of a connection before the first request of this connection that a worker gets.
    PreConnection,
    /// The phase of a connection in which a Perl handler serves the client instead of the front.
    ProcessConnection,
    ChildInit,
    ChildExit,
    OpenLogs,
    PostConfig,
}

impl Phase {
    pub const ALL: [Phase; 20] = [
        Phase::PostReadRequest,
        Phase::Trans,
        Phase::MapToStorage,
        Phase::HeaderParser,
        Phase::Access,
        Phase::Authen,
        Phase::Authz,
        Phase::Type,
        Phase::Fixup,
        Phase::InputFilter,
        Phase::OutputFilter,
        Phase::Response,
        Phase::Log,
        Phase::Cleanup,
        Phase::PreConnection,
        Phase::ProcessConnection,
        Phase::ChildInit,
        Phase::ChildExit,
        Phase::OpenLogs,
        Phase::PostConfig,
    ];

    /// Returns the directive that sets the handlers of the phase.
    pub fn directive(self) -> &'static str {
        match self {
            Phase::PostReadRequest => "PerlPostReadRequestHandler",
            Phase::Trans => "PerlTransHandler",
            Phase::MapToStorage => "PerlMapToStorageHandler",
            Phase::HeaderParser => "PerlHeaderParserHandler",
            Phase::Access => "PerlAccessHandler",
            Phase::Authen => "PerlAuthenHandler",
            Phase::Authz => "PerlAuthzHandler",
            Phase::Type => "PerlTypeHandler",
            Phase::Fixup => "PerlFixupHandler",
            Phase::InputFilter => "PerlInputFilterHandler",
            Phase::OutputFilter => "PerlOutputFilterHandler",
            Phase::Response => "PerlResponseHandler",
            Phase::Log => "PerlLogHandler",
            Phase::Cleanup => "PerlCleanupHandler",
            Phase::PreConnection => "PerlPreConnectionHandler",
            Phase::ProcessConnection => "PerlProcessConnectionHandler",
            Phase::ChildInit => "PerlChildInitHandler",
            Phase::ChildExit => "PerlChildExitHandler",
            Phase::OpenLogs => "PerlOpenLogsHandler",
            Phase::PostConfig => "PerlPostConfigHandler",
        }
    }

    /// Returns the phase whose handlers this directive sets.
    pub fn named(directive: &str) -> Option<Phase> {
        let mut all = Phase::ALL.into_iter();
        all.find(|phase| phase.directive() == directive)
    }

    /// Returns the phase's name in `PerlOptions`, such as `Authen`.
    pub fn option(self) -> &'static str {
        let name = self.directive();
        &name["Perl".len()..name.len() - "Handler".len()]
    }

    /// Tells whether the phase is one of the server or of a worker, not of a request.
    pub(crate) fn is_of_a_servers_life(self) -> bool {
        self >= Phase::ChildInit
    }

    /// Tells whether the phase's handlers run for every request, whatever responds to the request.
    pub(crate) fn is_of_a_request(self) -> bool {
        self <= Phase::Fixup || matches!(self, Phase::Log | Phase::Cleanup | Phase::PreConnection)
    }
}

/// `PerlOptions` of a location, as bits. `settings.h` in perl/xs has the same bits.
pub mod option {
    pub const PARSE_HEADERS: u8 = 1;
    pub const SETUP_ENV: u8 = 2;
    pub const GLOBAL_REQUEST: u8 = 4;
    pub const MERGE_HANDLERS: u8 = 8;
    pub const ALL: u8 = 15;

    pub fn named(name: &str) -> Option<u8> {
        Some(match name.to_ascii_lowercase().as_str() {
            "parseheaders" => PARSE_HEADERS,
            "setupenv" => SETUP_ENV,
            "globalrequest" => GLOBAL_REQUEST,
            "mergehandlers" => MERGE_HANDLERS,
            _ => return None,
        })
    }
}
