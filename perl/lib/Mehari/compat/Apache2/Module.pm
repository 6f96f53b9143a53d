package Apache2::Module;

# Lists the server's modules by Apache's names: the modules that Mehari replaces, and mod_perl.
# Defines directives for Perl modules.

use strict;
use warnings;
use Mehari::Server ();

our $VERSION = '2.000';

my @MODULES = qw(core mod_so http_core mod_access_compat mod_alias mod_auth_basic mod_authn_core mod_authn_file mod_authz_core mod_authz_host
    mod_authz_user mod_cgi mod_deflate mod_dir mod_env mod_expires mod_headers mod_log_config mod_mime mod_perl mod_proxy mod_rewrite
    mod_setenvif mod_ssl mod_status);
my %KNOWN = map { $_ => 1 } @MODULES;

# loaded('mod_rewrite.c') returns whether Mehari replaces this module of Apache.
# loaded('Apache2::Status') returns whether this Perl module is loaded.
sub loaded {
    my ($name) = @_;
    return $KNOWN{ $name =~ s/\.(?:c|so)\z//r } ? 1 : 0 if $name =~ /\.(?:c|so)\z/ || $name =~ /\A(?:core|http_core|mod_\w+)\z/;
    return exists $INC{ ($name =~ s{::}{/}gr) . '.pm' } ? 1 : 0;
}

# Returns the names of all modules: Apache's modules, then the Perl modules with directives.
sub _names { return ((map { "$_.c" } @MODULES), Mehari::Directives->can('modules') ? Mehari::Directives::modules() : ()) }

sub top_module { return _of(0) }

sub find_linked_module {
    my ($wanted) = @_;
    my @names = _names();
    my ($found) = grep { $names[$_] eq $wanted } 0 .. $#names;
    return defined $found ? _of($found) : undef;
}

sub _of {
    my ($index) = @_;
    my $name = (_names())[$index] // return undef;
    my $class = $index > $#MODULES ? $name : undef;
    return bless { index => $index, name => $name, class => $class }, __PACKAGE__;
}

sub next { my ($self) = @_; return _of($self->{index} + 1) }
sub name { return $_[0]{name} }
sub module_index { return $_[0]{index} }
# Returns the first command of the module. The method `next` of a command returns the next command.
sub cmds {
    my ($self) = @_;
    return Mehari::Directives::commands($self->{class}) if $self->{class};
    return $self->name eq 'mod_perl.c' ? _commands() : undef;
}

# mod_perl's directives: those for start-up and variables, then those for handlers.
my @COMMANDS = (
    ['PerlSwitches',     'ITERATE',  'RSRC_CONF', 'Perl Switches'],
    ['PerlModule',       'ITERATE',  'RSRC_CONF', 'PerlModule'],
    ['PerlRequire',      'ITERATE',  'RSRC_CONF', 'PerlRequire'],
    ['PerlOptions',      'ITERATE',  'OR_ALL',    'Perl Options'],
    ['PerlSetVar',       'TAKE2',    'OR_ALL',    'PerlSetVar'],
    ['PerlAddVar',       'ITERATE2', 'OR_ALL',    'PerlAddVar'],
    ['PerlSetEnv',       'TAKE2',    'OR_ALL',    'PerlSetEnv'],
    ['PerlPassEnv',      'TAKE1',    'RSRC_CONF', 'PerlPassEnv'],
    ['<Perl',            'RAW_ARGS', 'RSRC_CONF', 'Perl Code'],
    (map { ["Perl${_}Handler", 'ITERATE', 'RSRC_CONF', 'Subroutine name'] } qw(OpenLogs PostConfig ChildInit ChildExit PostReadRequest Trans MapToStorage)),
    (map { ["Perl${_}Handler", 'ITERATE', 'OR_ALL', 'Subroutine name'] } qw(HeaderParser Access Authen Authz Type Fixup Response Log Cleanup InputFilter OutputFilter)),
);

sub _commands {
    require Apache2::Command;
    my $next;
    for my $said (reverse @COMMANDS) {
        my %entry;
        @entry{qw(name args_how req_override errmsg)} = @$said;
        my $command = Apache2::Command->of(\%entry);
        $command->{'next in module'} = $next;
        $next = $command;
    }
    return $next;
}

# The version of Apache 2.4's API for modules.
sub ap_api_major_version { return 20120211 }
sub ap_api_minor_version { return 0 }

# add($package, \@commands) defines directives of a Perl module. The following lines of the
# configuration may use these directives.
sub add { my ($package, $commands) = @_; require Mehari::Directives; return Mehari::Directives::add($package, $commands) }

# get_config($class, $server, $per_dir) returns the object that the directives of a Perl module have
# filled, for a location or for the server.
sub get_config {
    my ($class, $server, $per_dir) = @_;
    return undef unless Mehari::Directives->can('config');
    return Mehari::Directives::config(ref $class || $class, $server, $per_dir);
}

sub remove_loaded_module { die "Apache2::Module::remove_loaded_module: the server's modules are fixed\n" }

1;

__END__

=head1 NAME

Apache2::Module - directives of a module's own, and the server's modules

=head1 SYNOPSIS

    package My::Words;
    use Apache2::Module ();
    use Apache2::Const -compile => qw(OR_ALL TAKE1);

    Apache2::Module::add(__PACKAGE__, [
        { name => 'MyWord', args_how => 'TAKE1', req_override => 'OR_ALL' },
    ]);

    sub MyWord { my ($self, $parms, $word) = @_; $self->{word} = $word; return }

    sub handler {
        my $r = shift;
        my $own = Apache2::Module::get_config(__PACKAGE__, $r->server, $r->per_dir_config);
        $r->print($own->{word});
        return 0;
    }

=head1 DESCRIPTION

C<PerlLoadModule My::Words> in the configuration loads the module at once, and the lines that
follow may use its directives.

=head1 FUNCTIONS

=over 4

=item add(PACKAGE, COMMANDS)

Defines directives. COMMANDS is a reference to an array of L<Apache2::Command> entries. Dies for
any other argument and for an entry without a name.

=item get_config(CLASS, SERVER, [PER_DIR_CONFIG])

Returns the object of a module for the sections that apply to a request. Without PER_DIR_CONFIG, it
returns the object for a server. Returns undef if there is no object.

=item loaded(NAME)

For a name such as C<mod_rewrite.c>, it returns whether Mehari has the directives of this module.
For the name of a Perl module, it returns whether the module is loaded.

=item find_linked_module(NAME)

Returns the module with a name such as C<mod_rewrite.c>, or undef.

=item top_module

Returns the first module.

=item ap_api_major_version, ap_api_minor_version

Return 20120211 and 0, the numbers of Apache 2.4.

=item remove_loaded_module

Dies: the modules are fixed.

=back

=head1 METHODS

=over 4

=item next

Returns the next module, or undef.

=item name, module_index

Return the name of the module with C<.c>, and the number of the module.

=item cmds

Returns the first L<Apache2::Command> of a module. Of the server's own modules, only mod_perl.c has
commands.

=back

=head1 CALLBACKS

A module may define DIR_CREATE, DIR_MERGE, SERVER_CREATE and SERVER_MERGE. The callback of a
directive gets the object of its section, an L<Apache2::CmdParms> and the arguments. If a callback
dies, the server reports the message as an error in the line.

=head1 DIFFERENCES

Callbacks run when the configuration is read. They run once more in every zygote (the process that
loads the modules and forks the workers). The result of DIR_MERGE is kept until the end of the
request.

=head1 SEE ALSO

L<Apache2::CmdParms>, L<Apache2::Command>, L<Apache2::Directive>, F<docs/reference/phases.md>.

=cut
