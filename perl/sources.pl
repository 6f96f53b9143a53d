# The sources of the Perl side, and the word that names a build of them. build.pl and Makefile.PL
# use it.

package Mehari::Sources;

use strict;
use warnings;
use Config;
use Digest::MD5;
use File::Find qw(find);

# The files that `make` writes beside the sources.
my $MADE = qr{\A(?:Mehari|state/State)\.c\z};

# The files below a folder that a build needs, as names relative to the folder.
sub files {
    my ($folder) = @_;
    my @files;
    find({ no_chdir => 1, wanted => sub { push @files, substr $_, 1 + length $folder if -f } }, $folder);
    return sort grep { !m{(?:\A|/)(?:build|blib|t)/} && /(?:\.(?:c|h|xs|pm|pod|PL)|\Asources\.pl)\z/ && $_ !~ $MADE } @files;
}

# Another perl, a changed source or other flags of the compiler give another word.
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
