#!/usr/bin/perl
# Builds the Perl side for the perl that runs this program, once, and prints the folders for @INC.
#
# [MEHARI_PERL_FLAGS=FLAGS] PERL perl/build.pl [CACHE]
# [MEHARI_PERL_FLAGS=FLAGS] PERL perl/build.pl --install [NAME=VALUE...]
#
# FLAGS are more flags for the C compiler, such as a sanitizer's. CACHE is the folder of builds and
# defaults to `build` beside this file. The name of a build depends on the perl, the sources and the
# flags, so a change of these makes another build. If the same build is installed among perl's own
# modules, nothing is built.
# With --install, the modules are installed among perl's own modules. NAME=VALUE are variables of
# `make install`, such as DESTDIR and INSTALLDIRS.

use strict;
use warnings;
use Config;
use Cwd qw(abs_path);
use Fcntl qw(:flock);
use File::Basename qw(dirname);
use File::Copy qw(copy);
use File::Path qw(make_path remove_tree);
use File::Temp qw(tempdir);

my $source = abs_path(dirname(__FILE__));
require "$source/sources.pl";
my $digest = Mehari::Sources::digest($source);
my $compat = 'Mehari/compat'; # mod_perl's modules, which only the server finds

if (($ARGV[0] // '') eq '--install') {
    my (undef, @variables) = @ARGV;
    my $home = tempdir(CLEANUP => 1) . '/perl';
    build($home);
    run(make() . ' install ' . join ' ', map { "'" . s/'/'\\''/gr . "'" } @variables);
    chdir '/'; # the current folder of a process cannot be removed
    exit;
}
if (defined(my $folder = installed())) {
    print "$folder/$compat\n";
    exit;
}
my $cache = shift // "$source/build";
my $home  = "$cache/$digest";

unless (-e "$home/built") {
    make_path($cache);
    open my $lock, '>', "$cache/lock" or die "mehari: cannot write $cache: $!\n";
    flock $lock, LOCK_EX or die "mehari: cannot lock $cache/lock: $!\n";
    unless (-e "$home/built") {
        print STDERR "mehari: building the Perl side for $^X, once\n";
        remove_tree($home);
        build($home);
        open my $done, '>', "$home/built" or die "mehari: $home/built: $!\n";
    }
}
print "$home/blib/lib/$compat\n$home/blib/lib\n$home/blib/arch\n";

# Returns the folder among perl's own folders in which this build is installed. Returns undef if no
# build is installed, or if the first installed build is another one.
sub installed {
    my ($arch) = grep { !ref && -e "$_/auto/Mehari/sources" } @INC;
    my ($lib)  = grep { !ref && -e "$_/Mehari.pm" } @INC;
    return unless defined $arch && defined $lib && -d "$lib/$compat";
    open my $in, '<', "$arch/auto/Mehari/sources" or return;
    chomp(my $word = <$in> // '');
    return $word eq $digest ? $lib : undef;
}

sub make { return $Config{make} || 'make' }

# Copies the sources to a folder and builds them there. This folder becomes the current folder.
sub build {
    my ($home) = @_;
    for my $name (Mehari::Sources::files($source)) {
        make_path(dirname("$home/$name"));
        copy("$source/$name", "$home/$name") or die "mehari: cannot copy $source/$name: $!\n";
    }
    chdir $home or die "mehari: $home: $!\n";
    run("$^X Makefile.PL");
    run(make() . ' pure_all'); # without the manual pages
}

sub run {
    my ($command) = @_;
    my ($process, $signal);
    local @SIG{qw(INT TERM HUP)} = (sub { $signal = $_[0]; kill TERM => $process if $process }) x 3;
    $process = open(my $output, '-|', "exec $command 2>&1") // die "mehari: cannot run `$command`: $!\n";
    kill TERM => $process if $signal;
    my $said = join '', <$output>;
    close $output;
    interrupted("SIG$signal") if $signal;
    return unless $?;
    print STDERR $said;
    interrupted('signal ' . ($? & 127) . " to `$command`") if $? & 127;
    die "mehari: `$command` failed in " . Cwd::getcwd() . ": the Perl side is not built for $^X"
        . (-e "$Config{archlibexp}/CORE/perl.h" ? '' : " (its headers are missing: Debian has them in the package perl)") . "\n";
}

# Dies because a signal has interrupted the build. The unfinished build is not used: the next start
# builds again.
sub interrupted {
    my ($by) = @_;
    die "mehari: the build of the Perl side for $^X was interrupted ($by)\n";
}
