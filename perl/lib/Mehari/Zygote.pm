package Mehari::Zygote;

# Starts the zygote. The descriptors are the control socket, the bell's page and the bell's event.
# The front sends the preloads one by one.

use strict;
use warnings;
use Config ();
use Mehari;
use Mehari::ForkLint ();
use Mehari::Handler ();
use Mehari::Server  ();

my @MANNERS = (undef, \&_module, \&_file, \&Mehari::compile_script, \&_psgi, \&_readable, \&_readable, \&_handler, \&_section, \&_directive, \&_learned);

sub run {
    # The text comes from the server itself, so it is untainted under `PerlSwitches -T`.
    my ($control, $bell, $event, %facts) = map { /\A(.*)\z/s } @_;
    %Mehari::Server::fact = %facts;
    { no warnings 'once'; $Apache2::__T = ${^TAINT}; Internals::SvREADONLY($Apache2::__T, 1) }
    @ARGV = ();
    # As under mod_perl, a handler that writes to a program that has ended gets an error. The signal
    # would end the worker.
    $SIG{PIPE} = 'IGNORE';
    # Devel::NYTProf has read the variable, and scripts must not see it.
    delete $ENV{NYTPROF} if defined $facts{exact};
    # `host` is the name of a virtual host with its own Perl.
    $0 = defined $facts{host} ? "mehari zygote of $facts{host}" : 'mehari zygote';
    Mehari::zygote($control, $bell, $event);
}

# Loads one thing, whose kind is a MEHARI_PRELOAD_* number. zygote.c calls it. Dies with the reason.
sub preload {
    my ($manner, $name) = @_;
    my $load = $MANNERS[$manner] or die "there is no preload of kind $manner\n";
    # A site's start-up files test these variables before they use the API. PSGI applications do not
    # get them.
    my $has_api = $Mehari::Server::fact{configured} && $load != \&_psgi;
    local @ENV{qw(MOD_PERL MOD_PERL_API_VERSION)} = ('mod_perl/2.0.12', 2) if $has_api;
    # As under mod_perl, $0 is the server's program, so FindBin finds a file.
    local $0 = $Mehari::Server::fact{program} if $Mehari::Server::fact{configured};
    if (eval { $load->($name); 1 }) {
        Mehari::ForkLint::loaded($name =~ s/\0.*//sr);
        return;
    }
    # The line number in our own code is removed, because it does not help a reader of the message.
    die $@ =~ s{ at \S*/Mehari/\w+\.pm line \d+\.\n\z}{\n}r;
}

sub _module {
    my ($name) = @_;
    $name =~ /\A\w+(?:::\w+)*\z/ or die "`$name` is no module name\n";
    require(($name =~ s{::}{/}gr) . '.pm');
}

# Loads a file in package main, as mod_perl does.
sub _file {
    my ($file) = @_;
    package main;
    require $file;
}

sub _psgi {
    my ($file) = @_;
    require Mehari::PSGI;
    Mehari::PSGI::load($file);
}

sub _handler {
    my ($name) = @_;
    Mehari::Handler::resolve($name);
}

# Runs the code of a `<Perl>` section for its other effects. The lines that the section makes were
# taken when the configuration was read.
sub _section {
    my ($name, $code) = split /\0/, $_[0], 2;
    require Mehari::Configuration;
    require Apache2::ServerUtil;
    Mehari::Configuration::section($name, $code);
}

# Runs the callback of a module's directive again, so that the objects exist in the zygote too.
sub _directive {
    my ($text) = @_;
    require Mehari::Configuration;
    require Mehari::Directives;
    Mehari::Directives::apply($text);
    Mehari::Configuration::taken();
}

# Notes a module for the template of a script.
sub _learned {
    my ($text) = @_;
    require Mehari::Learned;
    Mehari::Learned::note($text);
}

# Checks only that a script can be read. The process that runs the script compiles it.
sub _readable {
    my ($file) = @_;
    -r $file or die "$file: $!\n";
}

# Modules in perl's own folders load the same for every request, so a template of the rung `fork`
# may load them before its requests.

my $PREFIX = $Config::Config{prefixexp} . '/';

sub is_standard {
    my ($path) = @_;
    return defined $path && !ref $path && $path =~ /\.(?:pm|pl|al|ix)\z/ && (index($path, $PREFIX) == 0 || index($path, '/etc/perl/') == 0);
}

# %INC after all preloads, before any script is compiled.
my %known;

# Returns the loaded files that `--watch` checks: neither perl's own files nor Mehari's. The zygote
# calls it after all preloads.
sub own_files {
    %known = %INC;
    my ($ours) = __FILE__ =~ m{\A(.*)/Mehari/Zygote\.pm\z};
    # `use lib 'lib'` leaves relative names.
    my $here = readlink('/proc/self/cwd') // '';
    my @files = map { m{\A/} ? $_ : "$here/$_" } grep { defined && !ref } values %INC;
    return grep { -f && !is_standard($_) && index($_, $ours) != 0 && index($_, 'blib/arch') < 0 } @files;
}

sub only_standard_modules {
    for my $name (keys %INC) {
        next if exists $known{$name};
        return 0 unless $name =~ /\.pm\z/ && is_standard($INC{$name});
    }
    return 1;
}

# Returns whether `require NAME` and `do NAME` may run while a script is compiled on trial: the file
# is loaded already, is in perl's own folders, or does not exist.
sub may_load_on_trial {
    my ($name) = @_;
    return 1 if exists $INC{$name};
    return is_standard($name) if $name =~ m{\A/};
    for my $folder (@INC) {
        return 0 if ref $folder;
        return is_standard("$folder/$name") if -f "$folder/$name";
    }
    return 1;
}

# Loads the modules that a script names with a plain `use`, unless the script changes @INC.
sub load_what_a_script_uses {
    my ($file) = @_;
    open my $script, '<', $file or return;
    my @modules;
    while (my $line = <$script>) {
        last if $line =~ /^__(?:END|DATA)__/;
        return if $line =~ /\@INC|\buse\s+lib\b|PERL5LIB/;
        push @modules, $1 if $line =~ /^\s*use\s+([A-Z]\w*(?:::\w+)*)/;
    }
    for my $module (@modules) {
        my $path = ($module =~ s{::}{/}gr) . '.pm';
        my ($found) = grep { -e } map { "$_/$path" } grep { !ref } @INC;
        next unless is_standard($found);
        eval { require $path };
    }
    return;
}

1;

__END__

=head1 NAME

Mehari::Zygote - internal

=head1 DESCRIPTION

This module is internal to the server: it starts the zygote, the process that loads the site's
modules and forks the workers.

=cut
