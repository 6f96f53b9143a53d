package APR::Finfo;

# The result of stat for a file. Times are seconds since 1970.

use strict;
use warnings;
use Fcntl qw(:mode);
use APR::Error ();

my %FIELD = (
    device => 'dev', inode => 'ino', nlink => 'nlink', user => 'uid', group => 'gid', size => 'size',
    atime  => 'atime', mtime => 'mtime', ctime => 'ctime', csize => 'blocks', fname => 'fname', name => 'name',
);

for my $name (keys %FIELD) {
    my $field = $FIELD{$name};
    no strict 'refs';
    *$name = sub { return $_[0]{$field} };
}

# The object for a file that need not exist; its type is then FILETYPE_NOFILE.
sub of_file {
    my ($class, $file) = @_;
    return bless { fname => $file, _type => 0 }, $class unless defined $file && length $file;
    my @stat = CORE::stat $file or return bless { fname => $file, _type => 0 }, $class;
    return bless _fields($file, @stat), $class;
}

# stat($file, $wanted, $pool); dies with an APR::Error.
sub stat {
    my ($file, $wanted, $pool) = @_;
    # APR::Const::FINFO_LINK: examines the link instead of its target.
    my @stat = $wanted & 1 ? lstat $file : CORE::stat $file or APR::Error::throw($! + 0, 'APR::Finfo::stat');
    return bless _fields($file, @stat), __PACKAGE__;
}

sub _fields {
    my ($file, @stat) = @_;
    my %field = (fname => $file);
    @field{qw(dev ino mode nlink uid gid rdev size atime mtime ctime blksize blocks)} = @stat;
    $field{blocks} *= 512;
    return \%field;
}

my @TYPES = ([S_IFREG, 1], [S_IFDIR, 2], [S_IFCHR, 3], [S_IFBLK, 4], [S_IFIFO, 5], [S_IFLNK, 6], [S_IFSOCK, 7]);

sub filetype {
    my ($self) = @_;
    return $self->{_type} if defined $self->{_type};
    my $type = S_IFMT($self->{mode});
    for my $pair (@TYPES) { return $pair->[1] if $pair->[0] == $type }
    return 127;
}

# One hexadecimal digit each for owner, group and others, and one for the special bits.
sub protection {
    my ($self) = @_;
    my $mode = $self->{mode};
    my $special = ($mode & S_ISUID ? 0x8000 : 0) | ($mode & S_ISGID ? 0x4000 : 0) | ($mode & S_ISVTX ? 0x2000 : 0);
    return $special | ($mode & 0700) << 2 | ($mode & 070) << 1 | $mode & 07;
}

# The available FINFO_* values.
sub valid { return $_[0]{mode} ? 0x73f370 : 0 }

1;

__END__

=head1 NAME

APR::Finfo - facts about a file

=head1 SYNOPSIS

    use APR::Finfo ();
    use APR::Const -compile => qw(FINFO_NORM FILETYPE_DIR);
    my $file = APR::Finfo::stat('/etc', APR::Const::FINFO_NORM, undef);
    print "a folder\n" if $file->filetype == APR::Const::FILETYPE_DIR;

=head1 DESCRIPTION

C<< $r->finfo >> returns an object of this class.

=head1 FUNCTIONS

=over 4

=item stat(FILE, WANTED, POOL)

The facts. FINFO_LINK in WANTED means the link itself. Dies with an L<APR::Error> if there is no
file.

=back

=head1 METHODS

=over 4

=item fname, name

The path as given; C<name> is undef.

=item filetype

One of the constants C<FILETYPE_*>.

=item protection

The permissions as APR has them: a hexadecimal digit for owner, group and others.

=item size, csize

The length, and the bytes on disk.

=item atime, mtime, ctime

Seconds since 1970.

=item user, group, device, inode, nlink

Numbers.

=item valid

The bits of what is known; 0 if there is no file.

=item of_file(FILE)

A class method: the facts of a file that need not exist.

=back

=head1 DIFFERENCES

All facts are read, whatever WANTED asks for.

=head1 SEE ALSO

L<APR::Const>, L<Apache2::RequestRec>.

=cut
