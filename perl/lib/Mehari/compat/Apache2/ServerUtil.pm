package Apache2::ServerUtil;

# Provides functions about the whole server, and adds methods to Apache2::ServerRec.

use strict;
use warnings;
use Carp ();
use POSIX ();
use Scalar::Util ();
use Mehari ();
use Mehari::Server     ();
use Apache2::ServerRec ();
use APR::Pool          ();

my @components;

# Returns the main server.
sub server { return Apache2::ServerRec->main }

# Always returns 2. mod_perl reads its configuration twice, and some code acts only in the second
# pass.
sub restart_count { return 2 }

sub server_root { return Mehari::Server::root() }

# server_root_relative($pool, $path)
sub server_root_relative {
    my ($pool, $path) = @_;
    Carp::croak('Usage: Apache2::ServerUtil::server_root_relative(pool, path)') unless @_;
    Carp::croak('Apache2::ServerUtil::server_root_relative: p is not of type APR::Pool') if ref $pool && !(Scalar::Util::blessed($pool) && $pool->isa('APR::Pool'));
    $path = $pool if @_ == 1 && !ref $pool;
    $path = '' unless defined $path;
    return $path =~ m{\A/} ? $path : length $path ? server_root() . "/$path" : server_root() . '/';
}

# Returns the date of this file.
sub get_server_built { return POSIX::strftime('%Y-%m-%dT%H:%M:%S', gmtime((stat __FILE__)[9] // 0)) }

sub get_server_description { return join ' ', 'Mehari/' . Mehari->VERSION, 'mod_perl/2.0.12', sprintf('Perl/v%vd', $^V), @components }
sub get_server_version     { return get_server_description() }
sub get_server_banner      { return get_server_description() }

# Returns whether a name is defined: by `mehari serve -D NAME`, by `Define`, or MODPERL2.
sub exists_config_define { my ($name) = @_; return grep({ $_ eq $name } split /\n/, $Mehari::Server::fact{defines} // '') ? 1 : 0 }

# Return the user and the group of the process: the User and Group of the configuration.
sub user_id  { return $> }
sub group_id { return 0 + $) }

sub server_shutdown_cleanup_register {
    my ($code, @argument) = @_;
    Carp::croak("Can't run 'server_shutdown_cleanup_register' after server startup") if Mehari::Server::is_serving();
    require Apache2::Process;
    return Apache2::Process->new->pool->cleanup_register($code, @argument);
}

package Apache2::ServerRec;

use strict;
use warnings;
use Carp ();
use APR::Table ();

# add_config(\@lines) adds lines. It works only while the configuration is read.
sub add_config {
    my ($self, $lines) = @_;
    Carp::croak("Can't run '\$s->add_config' after server startup") if Mehari::Server::is_serving();
    require Mehari::Configuration;
    Mehari::Configuration::add(ref $lines eq 'ARRAY' ? @$lines : $lines);
    return;
}

sub add_version_component { my ($self, $component) = @_; push @components, $component; return }

# Returns the server's variables: those of the `PerlSetVar` lines outside of sections.
sub dir_config {
    my ($self, $name, @value) = @_;
    my $table = $self->{dir_config} ||= _variables($self->{number});
    return $table unless defined $name;
    my $old = $table->get($name);
    if (@value) { defined $value[0] ? $table->set($name, $value[0]) : $table->unset($name) }
    return $old;
}

sub _variables {
    my ($number) = @_;
    my $table = APR::Table::make(undef, 8);
    my @pairs = Mehari::Server::variables($number);
    while (my ($name, $value) = splice @pairs, 0, 2) { $table->add($name, $value) }
    return $table;
}

# push_handlers($phase => $handler) adds a handler. A handler for a phase of requests runs for
# future requests. Other handlers run when the server reaches their phase (PerlChildInitHandler
# ...).
sub push_handlers { my ($self, $phase, $handlers) = @_; return Mehari::Server::stack($self->{number}, $phase, $handlers, 0) }
sub set_handlers  { my ($self, $phase, $handlers) = @_; return Mehari::Server::stack($self->{number}, $phase, $handlers, 1) }
sub get_handlers  { my ($self, $phase) = @_; return Mehari::Server::handlers($self->{number}, $phase) }

# The options that a whole server may have. The configuration turns them on.
my %OPTION = map { ($_ => 1) } qw(None Enable Clone Parent Autoload InheritSwitches MergeHandlers PreConnection ProcessConnection
    PostReadRequest Trans MapToStorage HeaderParser Access Authen Authz Type Fixup InputFilter OutputFilter Response Log Cleanup
    ChildInit ChildExit OpenLogs PostConfig);

sub is_perl_option_enabled {
    my ($self, $name) = @_;
    $OPTION{$name} or Carp::croak("PerlOptions $name is not a server option");
    return grep({ $_ eq $name } split / /, Mehari::Server::text($self->{number}, 'perl_options') // '') ? 1 : 0;
}

# Registers a method and returns its number, which comes after those of HTTP's methods. The server
# accepts any method, even if it is not registered.
my @methods;
sub method_register {
    my ($self, $method) = @_;
    push @methods, $method unless grep { $_ eq $method } @methods;
    return number_of_method($method);
}

# Returns the number of a registered method, or undef.
sub number_of_method {
    my ($method) = @_;
    my ($index) = grep { $methods[$_] eq $method } 0 .. $#methods;
    return defined $index ? 27 + $index : undef;
}

sub error_log2stderr { return }

1;

__END__

=head1 NAME

Apache2::ServerUtil - the server as a whole

=head1 SYNOPSIS

    use Apache2::ServerUtil ();
    my $s = Apache2::ServerUtil->server;
    $s->push_handlers(PerlChildInitHandler => sub { warn "worker $$ begins\n"; return 0 });
    my $file = Apache2::ServerUtil::server_root_relative($s->process->pool, 'conf/my.conf');

=head1 DESCRIPTION

Mainly start-up files use this module. It also adds methods to L<Apache2::ServerRec>.

=head1 FUNCTIONS

=over 4

=item server

Returns the main server, an Apache2::ServerRec.

=item server_root

Returns the folder of ServerRoot, without a slash at its end.

=item server_root_relative(POOL, [PATH])

Returns the path below ServerRoot. An absolute path is returned unchanged. Dies if POOL is an object
of another class.

=item restart_count

Always returns 2, the number of mod_perl's second pass over the configuration. Code that acts only
in the second pass therefore acts here too.

=item get_server_description, get_server_version, get_server_banner

Return the versions of Mehari and of the mod_perl interface, and the added components.

=item get_server_built

Returns the date of this module's file, such as C<2024-01-31T12:00:00>.

=item exists_config_define(NAME)

Returns whether NAME is defined: by C<mehari serve -D NAME>, by the directive Define, or as
MODPERL2.

=item user_id, group_id

Return the numbers of the user and the group of the process.

=item server_shutdown_cleanup_register(CODE, [ARGUMENT])

Registers code with the pool of the server. Dies while a request is served.

=back

=head1 METHODS OF THE SERVER

=over 4

=item add_config(LINES)

Adds lines of configuration, text or an array reference. Dies while a request is served.

=item add_version_component(TEXT)

Adds a text to the description of the server.

=item dir_config([NAME, [VALUE]])

Returns the variables of PerlSetVar outside of sections as an L<APR::Table>, or the value of a NAME.
A new VALUE is valid in this process only.

=item push_handlers(PHASE, HANDLERS), set_handlers(PHASE, HANDLERS)

C<push_handlers> adds handlers, and C<set_handlers> replaces them. The handlers are for future
requests, or for a phase of the server itself such as PerlChildInitHandler. Call these methods while
the server starts.

=item get_handlers(PHASE)

Returns an array reference of the handlers of a phase.

=item is_perl_option_enabled(NAME)

Returns whether the server's PerlOptions turns on NAME. Dies for a name that is no option of
servers.

=item method_register(NAME)

Registers a method and returns its number. The server accepts any method, even if it is not
registered.

=item loglevel([NUMBER])

Does the same as the method of L<Apache2::ServerRec>.

=item error_log2stderr

Does nothing.

=back

=head1 DIFFERENCES

Nothing calls the code of C<server_shutdown_cleanup_register> yet. The description names Mehari and
not Apache. The server reads its configuration once. C<< <Perl> >> sections run again in each zygote
(the process that loads the modules and forks the workers).

=head1 SEE ALSO

L<Apache2::ServerRec>, L<Apache2::PerlSections>, F<docs/reference/phases.md>.

=cut
