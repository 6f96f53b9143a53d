package Apache2::Module;

# The server's modules by Apache's names: those that Mehari replaces, and mod_perl.

use strict;
use warnings;
use Mehari::Server ();

our $VERSION = '2.000';

my @MODULES = qw(core mod_so http_core mod_access_compat mod_alias mod_auth_basic mod_authn_core mod_authn_file mod_authz_core mod_authz_host
    mod_authz_user mod_cgi mod_deflate mod_dir mod_env mod_expires mod_headers mod_log_config mod_mime mod_perl mod_proxy mod_rewrite
    mod_setenvif mod_ssl mod_status);
my %KNOWN = map { $_ => 1 } @MODULES;

# loaded('mod_rewrite.c'): true if Mehari replaces it. 'Apache2::Status': true if the Perl module is
# loaded.
sub loaded {
    my ($name) = @_;
    return $KNOWN{ $name =~ s/\.(?:c|so)\z//r } ? 1 : 0 if $name =~ /\.(?:c|so)\z/ || $name =~ /\A(?:core|http_core|mod_\w+)\z/;
    return exists $INC{ ($name =~ s{::}{/}gr) . '.pm' } ? 1 : 0;
}

sub top_module { return _of(0) }

sub find_linked_module { my ($name) = @_; my ($found) = grep { "$MODULES[$_].c" eq $name } 0 .. $#MODULES; return defined $found ? _of($found) : undef }

sub _of { my ($index) = @_; return $index < @MODULES ? bless { index => $index }, __PACKAGE__ : undef }

sub next { my ($self) = @_; return _of($self->{index} + 1) }
sub name { my ($self) = @_; return "$MODULES[$self->{index}].c" }
sub module_index { return $_[0]{index} }
# The first of the module's commands. `next` returns the others.
sub cmds {
    my ($self) = @_;
    return Mehari::Directives::commands($self->{class}) if $self->{class};
    return $self->name eq 'mod_perl.c' ? _handlers() : undef;
}

# mod_perl's directives for handlers.
sub _handlers {
    require Apache2::Command;
    my ($next, %said) = (undef, args_how => 'ITERATE', errmsg => 'Subroutine name');
    for my $phase (reverse qw(HeaderParser Access Authen Authz Type Fixup Response Log Cleanup InputFilter OutputFilter)) {
        my $command = Apache2::Command->of({ name => "Perl${phase}Handler", req_override => 'OR_ALL', %said });
        $command->{'next in module'} = $next;
        $next = $command;
    }
    return $next;
}

# The API version of Apache 2.4.
sub ap_api_major_version { return 20120211 }
sub ap_api_minor_version { return 0 }

# add($package, \@commands): defines directives of a Perl module for the following lines of the
# configuration.
sub add { my ($package, $commands) = @_; require Mehari::Directives; return Mehari::Directives::add($package, $commands) }

# get_config($class, $server, $per_dir): the object of a Perl module's directives, for a location or
# for the server.
sub get_config {
    my ($class, $server, $per_dir) = @_;
    return undef unless Mehari::Directives->can('config');
    return Mehari::Directives::config(ref $class || $class, $server, $per_dir);
}

sub remove_loaded_module { die "Apache2::Module::remove_loaded_module: the server's modules are fixed\n" }

1;
