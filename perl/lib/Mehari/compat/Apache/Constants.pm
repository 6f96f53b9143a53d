package Apache::Constants;

# Defines mod_perl 1's constants: `use Apache::Constants qw(:common :response)`.

use strict;
use warnings;
use Apache ();
use Mehari::Constants ();
use Apache2::Const    ();

Mehari::Constants::define(__PACKAGE__, <<'GROUPS');
common: OK=0 DECLINED=-1 DONE=-2 NOT_FOUND=404 FORBIDDEN=403 AUTH_REQUIRED=401 SERVER_ERROR=500
response: DOCUMENT_FOLLOWS=200 MOVED=301 REDIRECT=302 USE_LOCAL_COPY=304 BAD_REQUEST=400 BAD_GATEWAY=502 RESPONSE_CODES=57 NOT_IMPLEMENTED=501 NOT_AUTHORITATIVE=203 CONTINUE=100
methods: METHODS=64 M_GET=0 M_PUT=1 M_POST=2 M_DELETE=3 M_CONNECT=4 M_OPTIONS=5 M_TRACE=6 M_PATCH=7 M_PROPFIND=8 M_PROPPATCH=9 M_MKCOL=10 M_COPY=11 M_MOVE=12 M_LOCK=13 M_UNLOCK=14 M_INVALID=26
options: OPT_NONE=0 OPT_INDEXES=1 OPT_INCLUDES=2 OPT_SYM_LINKS=4 OPT_EXECCGI=8 OPT_UNSET=16 OPT_INCNOEXEC=32 OPT_SYM_OWNER=64 OPT_MULTI=128 OPT_ALL=15
satisfy: SATISFY_ALL=0 SATISFY_ANY=1 SATISFY_NOSPEC=2
remotehost: REMOTE_HOST=0 REMOTE_NAME=1 REMOTE_NOLOOKUP=2 REMOTE_DOUBLE_REV=3
http: HTTP_OK=200 HTTP_MOVED_TEMPORARILY=302 HTTP_MOVED_PERMANENTLY=301 HTTP_METHOD_NOT_ALLOWED=405 HTTP_NOT_MODIFIED=304 HTTP_UNAUTHORIZED=401 HTTP_FORBIDDEN=403 HTTP_NOT_FOUND=404 HTTP_BAD_REQUEST=400 HTTP_INTERNAL_SERVER_ERROR=500 HTTP_NOT_ACCEPTABLE=406 HTTP_NO_CONTENT=204 HTTP_PRECONDITION_FAILED=412 HTTP_SERVICE_UNAVAILABLE=503 HTTP_VARIANT_ALSO_VARIES=506
server: MODULE_MAGIC_NUMBER=19990320
config: DECLINE_CMD=-1
types: DIR_MAGIC_TYPE=httpd/unix-directory
override: OR_NONE=0 OR_LIMIT=1 OR_OPTIONS=2 OR_FILEINFO=4 OR_AUTHCFG=8 OR_INDEXES=16 OR_UNSET=32 OR_ALL=31 ACCESS_CONF=64 RSRC_CONF=128
args_how: RAW_ARGS=0 TAKE1=1 TAKE2=2 ITERATE=3 ITERATE2=4 FLAG=5 NO_ARGS=6 TAKE12=7 TAKE3=8 TAKE23=9 TAKE123=10 TAKE13=11
GROUPS
Mehari::Constants::add(__PACKAGE__, server => SERVER_VERSION => 'Mehari/' . Mehari->VERSION);
Mehari::Constants::add(__PACKAGE__, server => SERVER_BUILT   => '');

# mod_perl 1's :response includes :common.
Mehari::Constants::extend(__PACKAGE__, response => 'common');
Mehari::Constants::extend(__PACKAGE__, response_codes => 'http');

sub import { my $class = shift; Mehari::Constants::import_into(__PACKAGE__, scalar caller, @_ ? @_ : ':common'); return }

sub export { my ($class, @names) = @_; Mehari::Constants::import_into(__PACKAGE__, scalar caller, @names); return }

# Returns the name of a status.
sub name { my ($class, $number) = @_; my %name = map { __PACKAGE__->can($_)->() => $_ } Mehari::Constants::names(__PACKAGE__, ':response', ':http'); return $name{$number} }

1;

__END__

=head1 NAME

Apache::Constants - mod_perl 1's constants

=head1 SYNOPSIS

    use Apache::Constants qw(:common :response);
    my $status = NOT_FOUND;

=head1 DESCRIPTION

The groups are C<:common>, C<:response> (with C<:common>), C<:methods>, C<:options>, C<:satisfy>,
C<:remotehost>, C<:http>, C<:response_codes> (the same as C<:http>), C<:server>, C<:config>,
C<:types>, C<:override> and C<:args_how>. C<use> without words exports C<:common>.

=head1 CLASS METHODS

=over 4

=item export(NAMES)

Exports names to the caller.

=item name(NUMBER)

Returns the name of a status, or undef.

=back

=head1 DIFFERENCES

SERVER_VERSION names Mehari, and SERVER_BUILT is empty.

=head1 SEE ALSO

L<Apache2::Const>, L<Apache>.

=cut
