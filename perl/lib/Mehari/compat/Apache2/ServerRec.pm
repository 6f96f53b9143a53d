package Apache2::ServerRec;

# Represents a server or a virtual host, with its configuration.

use strict;
use warnings;
use Mehari ();
use Mehari::Server ();

# The objects of the servers, by number. 0 is the main server.
my @servers;

sub of_number {
    my ($class, $number) = @_;
    return $servers[$number] ||= bless { number => $number }, $class;
}

sub main { return of_number(__PACKAGE__, 0) }

# Returns the object for $r->server.
sub of_request {
    my ($class, $r) = @_;
    my $self = of_number($class, Mehari::Server::number_of_request());
    # Without a ServerName, the server's name is the host name of the request.
    $self->{server_hostname} = $r->_server_name unless defined $self->_said('server_hostname');
    return $self;
}

sub _said { my ($self, $name) = @_; return Mehari::Server::text($self->{number}, $name) }

# A setter changes the value for this worker only. Times are in microseconds, as in APR.
my %DEFAULT = (
    server_admin => '[no address given]', server_hostname => undef, port => 0, error_fname => undef, path => undef, document_root => undef,
    timeout => 60_000_000, keep_alive => 1, keep_alive_max => 0, keep_alive_timeout => 5_000_000,
    limit_req_line => 8190, limit_req_fieldsize => 8190, limit_req_fields => 100, loglevel => 4, server_scheme => '',
);

for my $name (keys %DEFAULT) {
    no strict 'refs';
    *$name = sub {
        my $self = shift;
        my $old  = $self->{$name} // $self->_said($name) // $DEFAULT{$name};
        $self->{$name} = $_[0] if @_;
        # As under mod_perl, the setter of the level returns the new level.
        return @_ && $name eq 'loglevel' ? $self->{$name} : $old;
    };
}

sub is_virtual { my ($self) = @_; return $self->{number} ? 1 : 0 }

# Return the names of ServerAlias without wildcards, or with wildcards. undef: there are none.
sub names      { return _list(grep { !/[*?]/ } $_[0]->_aliases) }
sub wild_names { return _list(grep { /[*?]/ } $_[0]->_aliases) }
sub _aliases   { my ($self) = @_; return split ' ', $self->_said('names') // '' }
sub _list      { return @_ ? bless [@_], 'APR::ArrayHeader' : undef }
sub addrs      { return bless [], 'Apache2::ServerAddr' }

# Returns the next server: the virtual hosts follow the main server.
sub next { my ($self) = @_; my $next = $self->{number} + 1; return $next < Mehari::Server::count() ? of_number(ref $self, $next) : undef }

# Stand for the storage of Apache's C modules, which do not exist here.
sub module_config   { my ($self) = @_; return bless [$self], 'Apache2::ConfVector' }
sub lookup_defaults { my ($self) = @_; return bless [$self], 'Apache2::ConfVector' }
sub context         { return 0 }

sub process { require Apache2::Process; my ($self) = @_; return $self->{process} ||= Apache2::Process->new }

# mod_perl 1's methods.
sub uid { return $> }
sub gid { return 0 + $) }

sub log_error { shift if ref $_[0]; Mehari::log_line(3, join '', map { defined $_ ? $_ : '' } @_); return }
sub warn      { shift if ref $_[0]; Mehari::log_line(4, join '', map { defined $_ ? $_ : '' } @_); return }

1;

__END__

=head1 NAME

Apache2::ServerRec - a server or a virtual host

=head1 SYNOPSIS

    use Apache2::ServerUtil ();
    for (my $s = Apache2::ServerUtil->server; $s; $s = $s->next) {
        printf "%s %s\n", $s->is_virtual ? 'host' : 'server', $s->server_hostname // '';
    }

=head1 DESCRIPTION

C<< $r->server >> and C<< Apache2::ServerUtil->server >> return objects of this class.

=head1 METHODS

=over 4

=item server_admin([TEXT]), server_hostname([NAME]), port([NUMBER]), server_scheme([TEXT])

Get or set values of the configuration. Without a ServerName, the server's name is the host name of
the request. The port is 0 if neither ServerName nor the address of the virtual host has a port.

=item document_root([FOLDER]), path([TEXT]), error_fname([FILE]), loglevel([NUMBER])

Get or set values of the configuration. Levels are the constants C<LOG_*>.

=item timeout([TIME]), keep_alive_timeout([TIME])

Get or set these times in microseconds.

=item keep_alive([FLAG]), keep_alive_max([NUMBER])

Get or set whether connections are kept, and for how many requests.

=item limit_req_line([BYTES]), limit_req_fieldsize([BYTES]), limit_req_fields([NUMBER])

Get or set the limits of a request's head.

=item is_virtual

Returns whether the object is a virtual host.

=item names, wild_names

C<names> returns the names of ServerAlias without wildcards. C<wild_names> returns the names with
wildcards. The result is an APR::ArrayHeader, which is an array reference here. If there are no
names, the result is undef.

=item addrs

Returns an Apache2::ServerAddr without content.

=item next

Returns the next virtual host, or undef. The virtual hosts follow the main server.

=item process

Returns the L<Apache2::Process>.

=item log_error(TEXTS), warn(TEXTS)

Write a line to the error log.

=item uid, gid

Return the numbers of the user and the group, under mod_perl 1's names.

=item module_config, lookup_defaults, context

C<module_config> and C<lookup_defaults> return an object for L<Apache2::Module>. C<context> returns
0.

=back

=head1 DIFFERENCES

A new value is valid only in this worker (the process that runs the Perl code). It has no effect on
the front, the process that owns the connections. The objects also have the methods of
L<Apache2::ServerUtil> and L<Apache2::Log>.

=head1 SEE ALSO

L<Apache2::ServerUtil>, L<Apache2::Log>, L<Apache2::RequestRec>.

=cut
