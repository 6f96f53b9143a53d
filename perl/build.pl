#!/usr/bin/perl
# Builds the Perl side for the perl that runs this program, once, and prints the folders for @INC.
#
# [MEHARI_PERL_FLAGS=FLAGS] PERL perl/build.pl [CACHE]
#
# FLAGS are the C compiler's, besides perl's own: a sanitizer's, for example. CACHE defaults to
# `build` beside this file. The result's name is made from the perl and the sources, so another
# perl, a changed source or other flags get another build.

use strict;
use warnings;
use Config;
use Cwd qw(abs_path);
use Digest::MD5;
use Fcntl qw(:flock);
use File::Basename qw(dirname);
use File::Copy qw(copy);
use File::Find qw(find);
use File::Path qw(make_path remove_tree);

my $source = abs_path(dirname(__FILE__));
my $cache  = shift // "$source/build";

my @files;
find({ no_chdir => 1, wanted => sub { push @files, $_ if -f && !m{/(?:build|blib|t)/} && /\.(?:c|h|xs|pm|pod|PL)\z/ } }, $source);
my $digest = Digest::MD5->new;
$digest->add($ENV{MEHARI_PERL_FLAGS} // '', $^X, $], join "\0", map { $Config{$_} // '' } qw(archname version ccflags uselongdouble));
for my $file (sort @files) {
    open my $in, '<:raw', $file or die "mehari: cannot read $file: $!\n";
    $digest->add($file)->addfile($in);
}
my $home = "$cache/" . substr($digest->hexdigest, 0, 16);

unless (-e "$home/built") {
    make_path($cache);
    open my $lock, '>', "$cache/lock" or die "mehari: cannot write $cache: $!\n";
    flock $lock, LOCK_EX or die "mehari: cannot lock $cache/lock: $!\n";
    unless (-e "$home/built") {
        print STDERR "mehari: building the Perl side for $^X, once\n";
        build();
    }
}
print "$home/blib/lib\n$home/blib/arch\n";

sub build {
    remove_tree($home);
    for my $file (@files) {
        my $target = $home . substr $file, length $source;
        make_path(dirname($target));
        copy($file, $target) or die "mehari: cannot copy $file: $!\n";
    }
    chdir $home or die "mehari: $home: $!\n";
    run("$^X Makefile.PL");
    run(($Config{make} || 'make') . ' pure_all'); # without the manual pages
    open my $done, '>', 'built' or die "mehari: $home/built: $!\n";
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
    die "mehari: `$command` failed in $home: the Perl side is not built for $^X"
        . (-e "$Config{archlibexp}/CORE/perl.h" ? '' : " (its headers are missing: Debian has them in the package perl)") . "\n";
}

# What is built so far is not used: the next start builds it anew.
sub interrupted {
    my ($by) = @_;
    die "mehari: the build of the Perl side for $^X was interrupted ($by)\n";
}
