package APR::Finfo;

# Holds the result of stat for a file. Times are seconds since 1970.

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

# Returns the object for a file. If there is no such file, the object's type is FILETYPE_NOFILE.
sub of_file {
    my ($class, $file) = @_;
    return bless { fname => $file, _type => 0 }, $class unless defined $file && length $file;
    my @stat = CORE::stat $file or return bless { fname => $file, _type => 0 }, $class;
    return bless _fields($file, @stat), $class;
}

# stat($file, $wanted, $pool) dies with an APR::Error if there is no file.
sub stat {
    my ($file, $wanted, $pool) = @_;
    # APR::Const::FINFO_LINK (1) asks for the link itself and not for the link's target.
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

# Returns the permissions as a number with four hexadecimal digits: for the special bits, the owner,
# the group and the others.
sub protection {
    my ($self) = @_;
    my $mode = $self->{mode};
    my $special = ($mode & S_ISUID ? 0x8000 : 0) | ($mode & S_ISGID ? 0x4000 : 0) | ($mode & S_ISVTX ? 0x2000 : 0);
    return $special | ($mode & 0700) << 2 | ($mode & 070) << 1 | $mode & 07;
}

# Returns the FINFO_* bits of the values that are known.
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

Returns an object. With the bit FINFO_LINK in WANTED, the object is about a link itself and not
about the link's target. Dies with an L<APR::Error> if there is no file.

=back

=head1 METHODS

=over 4

=item fname, name

C<fname> returns the path as given. C<name> returns undef.

=item filetype

Returns one of the constants C<FILETYPE_*>.

=item protection

Returns the permissions in APR's form: one hexadecimal digit each for the special bits, the owner,
the group and the others.

=item size, csize

C<size> returns the length in bytes. C<csize> returns the number of bytes on the disk.

=item atime, mtime, ctime

Return times in seconds since 1970.

=item user, group, device, inode, nlink

Return numbers.

=item valid

Returns the bits C<FINFO_*> of the values that are known, or 0 if there is no file.

=item of_file(FILE)

A class method. Returns an object even if there is no such file.

=back

=head1 DIFFERENCES

C<stat> reads all values, whatever WANTED asks for.

=head1 SEE ALSO

L<APR::Const>, L<Apache2::RequestRec>.

=cut
