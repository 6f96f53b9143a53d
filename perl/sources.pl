# Lists the source files of the Perl side, and computes the name of a build from them. build.pl and
# Makefile.PL use it.

package Mehari::Sources;

use strict;
use warnings;
use Config;
use Digest::MD5;
use File::Find qw(find);

# Matches the files that `make` writes beside the sources.
my $MADE = qr{\A(?:Mehari|state/State)\.c\z};

# Returns the files below a folder that a build needs, relative to the folder.
sub files {
    my ($folder) = @_;
    my @files;
    find({ no_chdir => 1, wanted => sub { push @files, substr $_, 1 + length $folder if -f } }, $folder);
    return sort grep { !m{(?:\A|/)(?:build|blib|t)/} && /(?:\.(?:c|h|xs|pm|pod|PL)|\Asources\.pl)\z/ && $_ !~ $MADE } @files;
}

# Returns the name of a build. Another perl, a changed source or other flags for the compiler give
# another name.
sub digest {
    my ($folder) = @_;
    my $digest = Digest::MD5->new;
    $digest->add($ENV{MEHARI_PERL_FLAGS} // '', $^X, $], join "\0", map { $Config{$_} // '' } qw(archname version ccflags uselongdouble));
    for my $name (files($folder)) {
        open my $in, '<:raw', "$folder/$name" or die "mehari: cannot read $folder/$name: $!\n";
        $digest->add($name)->addfile($in);
    }
    return substr $digest->hexdigest, 0, 16;
}

1;
