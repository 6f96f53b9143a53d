package Apache2::compat;

# Adds mod_perl 1's methods to `$r` and loads mod_perl 1's modules.

use strict;
use warnings;
use Apache2::Access      ();
use Apache2::Connection  ();
use Apache2::Const       ();
use Apache2::Log         ();
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();
use Apache2::RequestUtil ();
use Apache2::Response    ();
use Apache2::ServerRec   ();
use Apache2::ServerUtil  ();
use Apache2::SubRequest  ();
use Apache2::URI         ();
use Apache2::Util        ();
use APR::Table           ();
use ModPerl::Util        ();

# True if the site itself has loaded this module. False if one of mod_perl 1's modules has.
our $is_alone = !exists $INC{'Apache.pm'};

# The methods that differ between mod_perl 1 and 2. A method without code here does both at once.
my %OVERRIDABLE = (
    (map { ($_ => undef) } map({ "Apache2::RequestRec::$_" } qw(notes filename finfo)), 'Apache2::Util::ht_time',
        map({ "Apache2::Module::$_" } qw(top_module get_config)), 'APR::URI::unparse'),
    'Apache2::Connection::local_addr'  => sub { return _packed(@{ $_[0] }{qw(local local_port)}) },
    'Apache2::Connection::remote_addr' => sub { return _packed(@{ $_[0] }{qw(remote remote_port)}) },
);
my %overridden;

sub _packed {
    my ($address, $port) = @_;
    require Socket;
    return Socket::pack_sockaddr_in6($port, Socket::inet_pton(Socket::AF_INET6(), $address)) if $address =~ /:/;
    return Socket::pack_sockaddr_in($port, Socket::inet_aton($address));
}

# override_mp2_api(@names) gives the methods mod_perl 1's meaning until restore_mp2_api is called.
sub override_mp2_api {
    for my $name (@_) {
        exists $OVERRIDABLE{$name} or die "unknown mp2 API: $name\n";
        my $code = $OVERRIDABLE{$name} or next;
        no strict 'refs';
        no warnings 'redefine';
        $overridden{$name} ||= \&$name;
        *$name = $code;
    }
    return;
}

sub restore_mp2_api {
    for my $name (@_) {
        my $code = delete $overridden{$name} or next;
        no strict 'refs';
        no warnings 'redefine';
        *$name = $code;
    }
    return;
}

package Apache2::RequestRec;

use strict;
use warnings;

sub request { my ($self) = @_; return $self }

sub table_get_set {
    my ($self, $table, $name, @value) = @_;
    my $old = $table->get($name);
    if (@value) { defined $value[0] ? $table->set($name, $value[0]) : $table->unset($name) }
    return $old;
}

sub header_in      { my $self = shift; return $self->table_get_set($self->Apache2::RequestRec::headers_in, @_) }
sub header_out     { my $self = shift; return $self->table_get_set($self->Apache2::RequestRec::headers_out, @_) }
sub err_header_out { my $self = shift; return $self->table_get_set($self->Apache2::RequestRec::err_headers_out, @_) }
sub cgi_env        { my $self = shift; return @_ || wantarray ? $self->cgi_var(@_) : $self->Apache2::RequestRec::subprocess_env }

sub cgi_var {
    my $self = shift;
    return %ENV unless @_;
    return $self->table_get_set($self->Apache2::RequestRec::subprocess_env, @_);
}

sub cgi_header_out {
    my ($self, $name, $value) = @_;
    return $self->send_cgi_header("$name: $value\n");
}

# Sets the type of the response. The head is sent with the first output.
sub send_http_header {
    my ($self, $type) = @_;
    $self->content_type(defined $type ? $type : $self->content_type || 'text/html');
    return;
}

sub get_remote_host { my ($self, $type) = @_; return $self->connection->get_remote_host($type) }

sub post_connection { my ($self, $code, @argument) = @_; return $self->pool->cleanup_register($code, @argument) }

# parse_args($text) returns names and values. parse_args($wants_list, $text) is mod_perl 1's form.
sub parse_args {
    my ($self, $wants_list, $text) = @_ == 2 ? ($_[0], 1, $_[1]) : @_;
    return unless defined $text && length $text;
    my @pairs = map {
        my ($name, $value) = map { defined $_ ? Apache2::URI::unescape_url(tr/+/ /r) : '' } (split /=/, $_, 2)[0, 1];
        ($name, $value)
    } split /[&;]/, $text, -1;
    return $wants_list ? @pairs : {@pairs};
}

# Returns the body of a form. The body can be read only once.
sub content {
    my ($self) = @_;
    return if ($self->headers_in->get('Content-Type') // '') !~ m{\Aapplication/x-www-form-urlencoded}i;
    my $text = '';
    1 while $self->read($text, 65536, length $text);
    return wantarray ? $self->parse_args(1, $text) : $text;
}

# send_fd($handle, $length) sends the rest of an open file, or at most $length bytes.
sub send_fd {
    my ($self, $file, $length) = @_;
    my $sent = 0;
    while (!defined $length || $length < 0 || $sent < $length) {
        my $most = defined $length && $length >= 0 && $length - $sent < 65536 ? $length - $sent : 65536;
        my $part;
        my $got = CORE::read($file, $part, $most);
        last unless $got;
        $self->print($part);
        $sent += $got;
    }
    return $sent;
}

sub send_fd_length { my $self = shift; return $self->send_fd(@_) }

sub server_root_relative { my ($self, @path) = @_; return Apache2::ServerUtil::server_root_relative($self->pool, @path) }

sub is_main { my ($self) = @_; return !$self->main }

sub current_callback { return ModPerl::Util::current_callback() }

# These methods do nothing. The server has its own time limits, and exec closes a worker's
# descriptors.
sub soft_timeout     { return }
sub hard_timeout     { return }
sub kill_timeout     { return }
sub reset_timeout    { return }
sub cleanup_for_exec { return }
sub clear_rgy_endav  { return }
sub stash_rgy_endav  { return }
sub chdir_file       { return }
sub seqno            { return 1 }

# Some code checks in %INC whether mod_perl 1's modules are loaded.
require Apache;
require Apache::Constants;
require Apache::File;
require Apache::Server;
require Apache::Table;
require Apache::Util;

1;

__END__

=head1 NAME

Apache2::compat - mod_perl 1's methods and modules

=head1 SYNOPSIS

    use Apache2::compat;

    sub handler {
        my $r = shift;
        $r->send_http_header('text/plain');
        $r->print($r->header_in('User-Agent'));
        return 0;
    }

=head1 DESCRIPTION

Loading this module adds methods of mod_perl 1 to L<Apache2::RequestRec>. C<use
Apache2::compat;> also loads L<Apache>, L<Apache::Constants>, L<Apache::File>, L<Apache::Table>
and L<Apache::Util>.

=head1 METHODS OF THE REQUEST

=over 4

=item header_in(NAME, [VALUE]), header_out(NAME, [VALUE]), err_header_out(NAME, [VALUE])

Get or set a field of the request, of the response, or of every response including error pages. The
VALUE undef removes the field. Return the old value.

=item cgi_env([NAME, [VALUE]]), cgi_var([NAME, [VALUE]])

Get or set an environment variable for programs. Without a NAME, they work on all variables.

=item cgi_header_out(NAME, VALUE)

Sets a field of the response as a CGI program does by printing it.

=item send_http_header([TYPE])

Sets the type of the response. The type defaults to C<text/html> if none was set. The head is sent
with the first output.

=item content

Returns the body of a form: names and values in list context, else the text. The body can be read
only once.

=item parse_args(LIST, TEXT)

Returns the names and values of a query: as a list if LIST is true, else as a hash reference.

=item send_fd(HANDLE, [LENGTH]), send_fd_length(HANDLE, [LENGTH])

Sends the rest of an open file, or LENGTH bytes. Returns the number of bytes.

=item get_remote_host([TYPE])

Does the same as the method of L<Apache2::Connection>.

=item post_connection(CODE, [ARGUMENT])

Calls the code after the request.

=item register_cleanup(CODE, [ARGUMENT])

Does the same as C<post_connection>.

=item request

Returns the object itself.

=item table_get_set(TABLE, NAME, [VALUE])

Gets or sets a value of a table.

=item is_main, current_callback

C<is_main> returns whether the request is no sub-request. C<current_callback> returns the directive
whose handler runs.

=item soft_timeout, hard_timeout, kill_timeout, reset_timeout, cleanup_for_exec,
clear_rgy_endav, stash_rgy_endav, chdir_file

Do nothing.

=item seqno

Always returns 1.

=back

=head1 CLASS METHODS

=over 4

=item override_mp2_api, restore_mp2_api

Do nothing: both meanings of a method work.

=back

=head1 DIFFERENCES

The server has time limits of its own. C<< $r->args >> is a text in list context too, unless
C<$r> is an L<Apache> object.

=head1 SEE ALSO

L<Apache>, L<Apache2::RequestRec>, L<Apache2::porting>.

=cut
