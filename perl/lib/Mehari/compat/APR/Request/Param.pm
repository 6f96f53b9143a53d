package APR::Request::Param;

# Represents a parameter as an object: its name and value, and for an upload its content.

use strict;
use warnings;
use APR::Table ();

use overload '""' => sub { $_[0]->value }, fallback => 1;

@APR::Request::Param::Table::ISA = ('APR::Table');

sub new {
    my ($class, $pool, $name, $value) = @_;
    return bless { name => $name, value => $value }, ref $class || $class;
}

# Returns the object for an upload, which is a range of the request's body. APR::Request calls it.
sub of_upload {
    my ($class, $request, $name, $file_name, $info, $offset, $size) = @_;
    return bless { request => $request, name => $name, value => $file_name, info => $info, offset => $offset, size => $size }, $class;
}

sub name  { return $_[0]{name} }
sub value { return $_[0]{value} }
sub info  { return $_[0]{info} }

sub is_tainted { my $self = shift; my $old = $self->{is_tainted} // 1; $self->{is_tainted} = $_[0] if @_; return $old }

# Returns the character set: 0 is ASCII, 1 is Latin-1, 2 is Windows-1252, 8 is UTF-8.
sub charset {
    my $self = shift;
    my $old  = $self->{charset} // _charset_of($self->{value});
    $self->{charset} = $_[0] if @_;
    return $old;
}

sub _charset_of {
    my ($bytes) = @_;
    return 0 unless $bytes =~ /[^\0-\x7f]/;
    return utf8::decode(my $copy = $bytes) ? 8 : 1;
}

sub upload_filename { return $_[0]{offset} ? $_[0]{value} : undef }
sub upload_size     { return $_[0]{size} }
sub upload_type     { my ($self) = @_; return ($self->{info}->get('Content-Type') // '') =~ /\A\s*([^;\s]*)/ ? $1 : '' }

# Returns `length` bytes of the content from `at` on, or fewer at the end.
sub _bytes {
    my ($self, $at, $length) = @_;
    my $rest = $self->{size} - $at;
    return $self->{request}->_body($self->{offset} + $at, $length < $rest ? $length : $rest);
}

# upload_slurp($into) reads the whole content and returns the length of the content.
sub upload_slurp { my $self = shift; $_[0] = $self->_bytes(0, $self->{size}); return $self->{size} }

sub _copy {
    my ($self, $out) = @_;
    for (my $at = 0; $at < $self->{size}; $at += 1 << 20) {
        my $part = $self->_bytes($at, 1 << 20);
        my $done = 0;
        while ($done < length $part) {
            my $wrote = syswrite $out, $part, length($part) - $done, $done;
            die "cannot keep the upload `$self->{name}`: $!\n" unless defined $wrote;
            $done += $wrote;
        }
    }
    return;
}

# Returns a handle on the content: in memory if the content is short, else in an unlinked file.
sub upload_fh {
    my ($self) = @_;
    return $self->{handle} if $self->{handle};
    my $is_short = $self->{size} <= $self->{request}->brigade_limit;
    my $file     = $is_short ? APR::Request::_memory_file('upload') : -1;
    my $handle;
    if ($file >= 0) { open $handle, '+<&=', $file or die "cannot keep the upload `$self->{name}`: $!\n" }
    else            { ($handle, my $name) = $self->_temporary; unlink $name }
    binmode $handle;
    $self->_copy($handle);
    seek $handle, 0, 0;
    return $self->{handle} = $handle;
}

sub upload_io { return $_[0]->upload_fh }

sub _temporary {
    my ($self) = @_;
    require File::Temp;
    require File::Spec;
    my $folder = $self->{request}->temp_dir;
    return File::Temp::tempfile('apreqXXXXXX', DIR => defined $folder ? $folder : File::Spec->tmpdir, UNLINK => 0);
}

# upload_link($path): writes the content to a new file of this name.
sub upload_link {
    my ($self, $path) = @_;
    require Fcntl;
    sysopen my $out, $path, Fcntl::O_WRONLY() | Fcntl::O_CREAT() | Fcntl::O_EXCL(), 0600 or die "cannot make $path: $!\n";
    return 1 if eval { $self->_copy($out); close $out };
    my $reason = $@ || "cannot write $path: $!\n";
    unlink $path;
    die $reason;
}

# Returns the name of a file with the content. The file is removed at the end of the request.
sub upload_tempname {
    my ($self) = @_;
    return $self->{tempname} if $self->{tempname};
    my $pool = $self->{request}->pool;
    my ($handle, $name) = $self->_temporary;
    $pool->cleanup_register(sub { unlink $name });
    $self->_copy($handle);
    close $handle or die "cannot write $name: $!\n";
    return $self->{tempname} = $name;
}

1;

__END__

=head1 NAME

APR::Request::Param - a parameter or an upload

=head1 SYNOPSIS

    use Apache2::Request ();

    sub handler {
        my $r = shift;
        my $upload = Apache2::Request->new($r)->upload('photo') or return 400;
        $upload->upload_slurp(my $content);
        return 0;
    }

=head1 DESCRIPTION

Used as a string, an object is its value. The value of an upload is the name of the client's file.

=head1 METHODS

=over 4

=item new(POOL, NAME, VALUE)

Returns a parameter.

=item name, value, info

Return the name, the value, and the header fields of an upload as an L<APR::Table>.

=item charset([NUMBER])

Returns the number of the character set. With an argument, it also sets the number. A number that
was not set follows from the bytes: 0 for ASCII, 1 for Latin 1, 8 for UTF-8.

=item is_tainted([FLAG])

Returns the flag, which is true at first. With an argument, it also sets the flag.

=item upload_filename, upload_size, upload_type

Return the name of the client's file, the length in bytes, and the media type. For other parameters
C<upload_filename> returns undef.

=item upload_slurp(BUFFER)

Puts the content into the buffer. Returns the length of the content.

=item upload_fh, upload_io

Return a handle on the content.

=item upload_link(PATH)

Writes the content to a new file. Returns 1. Dies if the file exists.

=item upload_tempname

Returns the name of a file with the content. The file is removed at the end of the request.

=back

=head1 DIFFERENCES

C<is_tainted> has no effect on perl's taint.

=head1 SEE ALSO

L<APR::Request>, L<Apache2::Upload>.

=cut
