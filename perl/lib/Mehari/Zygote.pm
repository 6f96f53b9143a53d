package Mehari::Zygote;

# Starts the zygote. The descriptors are the control socket, the bell's page and the bell's event.
# The front sends the preloads one by one.

use strict;
use warnings;
use Config ();
use Mehari;
use Mehari::Handler ();
use Mehari::Server  ();

my @MANNERS = (undef, \&_module, \&_file, \&Mehari::compile_script, \&_psgi, \&_readable, \&_readable, \&_handler, \&_section, \&_directive);

sub run {
    # The server's own text, so it is untainted under `PerlSwitches -T`.
    my ($control, $bell, $event, %facts) = map { /\A(.*)\z/s } @_;
    %Mehari::Server::fact = %facts;
    { no warnings 'once'; $Apache2::__T = ${^TAINT}; Internals::SvREADONLY($Apache2::__T, 1) }
    @ARGV = ();
    # The name of a virtual host with its own Perl.
    $0 = defined $facts{host} ? "mehari zygote of $facts{host}" : 'mehari zygote';
    Mehari::zygote($control, $bell, $event);
}

# Called by the zygote with a MEHARI_PRELOAD_* number. Dies with the reason.
sub preload {
    my ($manner, $name) = @_;
    my $load = $MANNERS[$manner] or die "there is no preload of kind $manner\n";
    # A site's start-up files test these variables before they use the API. PSGI applications do not
    # get them.
    my $has_api = $Mehari::Server::fact{configured} && $load != \&_psgi;
    local @ENV{qw(MOD_PERL MOD_PERL_API_VERSION)} = ('mod_perl/2.0.12', 2) if $has_api;
    # As under mod_perl: FindBin looks for the program's file, and `-e` means that there is none.
    local $0 = '-e' if $Mehari::Server::fact{configured};
    return if eval { $load->($name); 1 };
    # The position in our own code is removed, because it would not help the reader of the message.
    die $@ =~ s{ at \S*/Mehari/\w+\.pm line \d+\.\n\z}{\n}r;
}

sub _module {
    my ($name) = @_;
    $name =~ /\A\w+(?:::\w+)*\z/ or die "`$name` is no module name\n";
    require(($name =~ s{::}{/}gr) . '.pm');
}

# In package main, as in mod_perl.
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

# The section's lines were read with the configuration. Its other effects happen here.
sub _section {
    my ($name, $code) = split /\0/, $_[0], 2;
    require Mehari::Configuration;
    require Apache2::ServerUtil;
    Mehari::Configuration::section($name, $code);
}

# Likewise, the callback's other effects happen here.
sub _directive {
    my ($text) = @_;
    require Mehari::Configuration;
    require Mehari::Directives;
    Mehari::Directives::apply($text);
    Mehari::Configuration::taken();
}

# The process that runs a script of another rung compiles it.
sub _readable {
    my ($file) = @_;
    -r $file or die "$file: $!\n";
}

# For the rung fork: modules of perl's own folders load the same for every request.

my $PREFIX = $Config::Config{prefixexp} . '/';

sub _is_standard {
    my ($path) = @_;
    return defined $path && !ref $path && $path =~ /\.(?:pm|pl|al|ix)\z/ && (index($path, $PREFIX) == 0 || index($path, '/etc/perl/') == 0);
}

# The modules that the zygote has loaded, without those of scripts.
my %known;

# Called after all preloads. Returns the files that `--watch` checks: neither perl's nor ours.
sub own_files {
    %known = %INC;
    my ($ours) = __FILE__ =~ m{\A(.*)/Mehari/Zygote\.pm\z};
    return grep { defined && !ref && m{\A/} && !_is_standard($_) && index($_, $ours) != 0 && index($_, 'blib/arch') < 0 } values %INC;
}

sub only_standard_modules {
    for my $name (keys %INC) {
        next if exists $known{$name};
        return 0 unless $name =~ /\.pm\z/ && _is_standard($INC{$name});
    }
    return 1;
}

# For `require NAME` and `do NAME` while a script is compiled on trial.
sub may_load_on_trial {
    my ($name) = @_;
    return 1 if exists $INC{$name};
    return _is_standard($name) if $name =~ m{\A/};
    for my $folder (@INC) {
        return 0 if ref $folder;
        return _is_standard("$folder/$name") if -f "$folder/$name";
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
        next unless _is_standard($found);
        eval { require $path };
    }
    return;
}

1;

__END__

=head1 NAME

Mehari::Zygote - internal

=head1 DESCRIPTION

This module is internal to the server: it starts the zygote, which loads the site's modules and
forks the workers.

=cut
