package Apache2::Const;

# Apache's constants, by name and by group: `use Apache2::Const -compile => qw(OK :http)`.

use strict;
use warnings;

my %COMMON = (OK => 0, DECLINED => -1, DONE => -2, NOT_FOUND => 404, FORBIDDEN => 403, AUTH_REQUIRED => 401, SERVER_ERROR => 500, REDIRECT => 302);

my %HTTP = (
    HTTP_CONTINUE => 100, HTTP_SWITCHING_PROTOCOLS => 101, HTTP_PROCESSING => 102,
    HTTP_OK => 200, HTTP_CREATED => 201, HTTP_ACCEPTED => 202, HTTP_NON_AUTHORITATIVE => 203, HTTP_NO_CONTENT => 204,
    HTTP_RESET_CONTENT => 205, HTTP_PARTIAL_CONTENT => 206, HTTP_MULTI_STATUS => 207,
    HTTP_MULTIPLE_CHOICES => 300, HTTP_MOVED_PERMANENTLY => 301, HTTP_MOVED_TEMPORARILY => 302, HTTP_SEE_OTHER => 303,
    HTTP_NOT_MODIFIED => 304, HTTP_USE_PROXY => 305, HTTP_TEMPORARY_REDIRECT => 307,
    HTTP_BAD_REQUEST => 400, HTTP_UNAUTHORIZED => 401, HTTP_PAYMENT_REQUIRED => 402, HTTP_FORBIDDEN => 403, HTTP_NOT_FOUND => 404,
    HTTP_METHOD_NOT_ALLOWED => 405, HTTP_NOT_ACCEPTABLE => 406, HTTP_PROXY_AUTHENTICATION_REQUIRED => 407, HTTP_REQUEST_TIME_OUT => 408,
    HTTP_CONFLICT => 409, HTTP_GONE => 410, HTTP_LENGTH_REQUIRED => 411, HTTP_PRECONDITION_FAILED => 412,
    HTTP_REQUEST_ENTITY_TOO_LARGE => 413, HTTP_REQUEST_URI_TOO_LARGE => 414, HTTP_UNSUPPORTED_MEDIA_TYPE => 415,
    HTTP_RANGE_NOT_SATISFIABLE => 416, HTTP_EXPECTATION_FAILED => 417, HTTP_UNPROCESSABLE_ENTITY => 422, HTTP_LOCKED => 423,
    HTTP_FAILED_DEPENDENCY => 424, HTTP_UPGRADE_REQUIRED => 426,
    HTTP_INTERNAL_SERVER_ERROR => 500, HTTP_NOT_IMPLEMENTED => 501, HTTP_BAD_GATEWAY => 502, HTTP_SERVICE_UNAVAILABLE => 503,
    HTTP_GATEWAY_TIME_OUT => 504, HTTP_VERSION_NOT_SUPPORTED => 505, HTTP_VARIANT_ALSO_VARIES => 506,
    HTTP_INSUFFICIENT_STORAGE => 507, HTTP_NOT_EXTENDED => 510,
);

my %METHODS = do {
    my $number = 0;
    map { ("M_$_" => $number++) } qw(GET PUT POST DELETE CONNECT OPTIONS TRACE PATCH);
};

my %GROUPS = (common => \%COMMON, http => \%HTTP, methods => \%METHODS);
my %VALUES = map { %$_ } values %GROUPS;

for my $name (keys %VALUES) {
    my $value = $VALUES{$name};
    no strict 'refs';
    *$name = sub () { $value };
}

sub compile { shift; _names(@_); return }

sub import {
    my $class = shift;
    my $compile_only = @_ && defined $_[0] && $_[0] eq '-compile';
    shift if $compile_only;
    my @names = _names(@_);
    return if $compile_only;
    my $caller = caller;
    no strict 'refs';
    *{"${caller}::$_"} = \&$_ for @names;
}

sub _names {
    return map {
        my $word = $_;
        if ($word =~ /\A:(\w+)\z/) {
            my $group = $GROUPS{$1} or die "Apache2::Const has no group `:$1`; it has " . join(', ', map { ":$_" } sort keys %GROUPS) . "\n";
            keys %$group;
        }
        else {
            exists $VALUES{$word} or die "Apache2::Const has no constant `$word`\n";
            $word;
        }
    } @_;
}

1;
