//! Status codes: the reason phrase of each code as in Apache, and the codes whose responses have no
//! body (RFC 9110 section 15).

/// Returns the reason phrase. It is empty for an unregistered code, as RFC 9112 allows.
pub fn phrase(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        102 => "Processing",
        103 => "Early Hints",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        207 => "Multi-Status",
        208 => "Already Reported",
        226 => "IM Used",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        305 => "Use Proxy",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Request Entity Too Large",
        414 => "Request-URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Requested Range Not Satisfiable",
        417 => "Expectation Failed",
        418 => "I'm a teapot",
        421 => "Misdirected Request",
        422 => "Unprocessable Entity",
        423 => "Locked",
        424 => "Failed Dependency",
        425 => "Too Early",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        506 => "Variant Also Negotiates",
        507 => "Insufficient Storage",
        508 => "Loop Detected",
        510 => "Not Extended",
        511 => "Network Authentication Required",
        _ => "",
    }
}

/// Returns the status with which the server refuses or redirects a request. As in Apache, an
/// unregistered code becomes 500.
pub fn of_page(status: u16) -> u16 {
    if phrase(status).is_empty() {
        500
    } else {
        status
    }
}

/// Returns whether the response ends with its head, whatever its fields say: 1xx, 204 and 304.
#[inline]
pub fn has_no_body(status: u16) -> bool {
    status < 200 || status == 204 || status == 304
}

/// Returns the text below the title of an error page.
pub fn explanation(status: u16) -> &'static str {
    match status {
        400 => "The server does not understand the request.",
        403 => "Access to this address is not allowed.",
        404 => "There is nothing at this address.",
        405 => "This address does not allow the method.",
        408 => "The request took too long to arrive.",
        413 => "The body of the request is larger than this address allows.",
        414 => "The address is too long.",
        416 => "The file has no such range.",
        417 => "The expectation of the request cannot be met.",
        421 => "This connection was made for another host.",
        429 => "There were too many requests from your address. Please try again in a moment.",
        431 => "The header of the request is too large.",
        500 => "The program behind this address failed. The error log says why.",
        501 => "This server does not support what the request needs.",
        502 => "The program behind this address ended without an answer.",
        503 => "The server is overloaded. Please try again in a moment.",
        504 => "The program behind this address took too long.",
        505 => "This server supports HTTP/1.0, HTTP/1.1 and HTTP/2.",
        _ => "",
    }
}
