package APR::Request;

# Gives access to the query string, the cookies and the body of a request, as libapreq2 does. XS
# code (xs/api/apreq.c) parses them at the first access.

use strict;
use warnings;
use Mehari ();
use APR::Request::Error  ();
use APR::Request::Param  ();
use APR::Request::Cookie ();

our $VERSION = '2.17';

# Encode and decode names and values for a query string.
sub encode { my ($text) = @_; $text =~ s/([^A-Za-z0-9._\-* ])/sprintf '%%%02X', ord $1/ge; $text =~ tr/ /+/; return $text }

sub decode {
    my ($text) = @_;
    $text =~ tr/+/ /;
    $text =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge;
    return $text;
}

# Returns the statuses of the cookies, the query string and the body.
sub parse {
    my ($self) = @_;
    return ($self->jar_status, $self->args_status, $self->body_status);
}

sub jar_status { return 0 }

# Returns 0, or the first error of the query string and the body.
sub param_status {
    my ($self) = @_;
    for my $status ($self->args_status, $self->body_status) { return $status if APR::Request::Error::is_error($status) }
    return 0;
}

# jar($name) returns the first value of a cookie, or all its values in list context. Without a name,
# it returns a table, or the names in list context.
sub jar {
    my ($self, @name) = @_;
    my $table = APR::Request::Cookie::jar_of($self->{r});
    return wantarray ? $table->get(@name) : scalar $table->get(@name) if @name;
    my %seen;
    return wantarray ? grep { !$seen{$_}++ } keys %$table : $table;
}

# upload($name) returns APR::Request::Param objects. Without a name, it returns a table of the
# uploads, or the names in list context.
sub upload {
    my ($self, @name) = @_;
    my @uploads = map { $self->_upload($_) } $self->_uploads;
    if (@name) {
        my @named = grep { lc $_->name eq lc $name[0] } @uploads;
        return wantarray ? @named : $named[0];
    }
    my %seen;
    return map { $_->name } grep { !$seen{ $_->name }++ } @uploads if wantarray;
    my %table;
    for my $upload (@uploads) { $table{ $upload->name } ||= $upload }
    return \%table;
}

sub _upload { my ($self, $parts) = @_; return APR::Request::Param->of_upload($self, @$parts) }

sub pool   { return $_[0]{r}->pool }
sub bucket_alloc { require APR::BucketAlloc; return APR::BucketAlloc->new }

# Sets the largest allowed body in bytes. Returns the previous limit.
sub read_limit {
    my $self = shift;
    my $old  = $self->{READ_LIMIT};
    if (@_) {
        $self->{READ_LIMIT} = $_[0];
        $self->_limit($_[0]);
    }
    return $old;
}

# Sets the size in bytes above which an upload goes to a file. Smaller uploads stay in memory.
sub brigade_limit { my $self = shift; my $old = $self->{BRIGADE_LIMIT} // 256 * 1024; $self->{BRIGADE_LIMIT} = $_[0] if @_; return $old }

sub temp_dir { my $self = shift; my $old = $self->{TEMP_DIR}; $self->{TEMP_DIR} = $_[0] if @_; return $old }

sub disable_uploads { my ($self) = @_; $self->_refuse_uploads(1); return 1 }

# Calls the code with the content of each upload.
sub upload_hook {
    my ($self, $code, $data) = @_;
    for my $upload (grep { defined $_->upload_filename } map { $self->_upload($_) } $self->_uploads) {
        my ($at, $size) = (0, $upload->upload_size);
        while ($at < $size) {
            my $part = $upload->_bytes($at, 65536);
            $code->($upload, $part, length $part, $data);
            $at += length $part;
        }
        $code->($upload, '', 0, $data);
    }
    return;
}

1;

__END__

=head1 NAME

APR::Request - parameters, cookies and uploads of a request

=head1 SYNOPSIS

    use APR::Request::Apache2 ();

    sub handler {
        my $r = shift;
        my $request = APR::Request::Apache2->handle($r);
        my $name = $request->param('name');
        my @names = $request->args;
        my $id = $request->jar('id');
        return 0;
    }

=head1 DESCRIPTION

This is the base class of L<Apache2::Request> and L<APR::Request::Apache2>. The query and the body
are parsed at the first access.

=head1 METHODS

=over 4

=item args([NAME]), body([NAME]), param([NAME])

Return parameters of the query, of the body, and of both. With a NAME, they return the first value,
or all values in list context. Without a NAME, they return an L<APR::Table>, or the names in list
context.

=item upload([NAME])

Returns the uploads of a NAME as L<APR::Request::Param> objects. Without a NAME, it returns a hash
reference, or the names in list context.

=item jar([NAME])

Returns the first value of a cookie, or all values in list context, as the client sent them. Without
a NAME, it returns a table, or the names in list context.

=item parse

Returns three statuses: of the cookies, the query and the body.

=item args_status, body_status, jar_status, param_status

Return 0, or the number of an error. C<param_status> returns 0 for a request without a form.

=item read_limit([BYTES]), brigade_limit([BYTES]), temp_dir([FOLDER])

Set the size of the largest allowed body, the size of the largest upload that stays in memory (256
KiB at first), and the folder for the files of uploads. Return the old value.

=item disable_uploads

Refuses forms with files. Returns 1.

=item upload_hook(CODE, [DATA])

Calls the code for each piece of each upload. The arguments are the upload, the piece, the length of
the piece, and DATA.

=item pool, bucket_alloc

Return the pool of the request, and a new allocator.

=back

=head1 FUNCTIONS

=over 4

=item encode(TEXT), decode(TEXT)

C<encode> writes a text with C<%> codes, and with C<+> for a blank. C<decode> does the reverse.

=back

=head1 ERRORS

C<args>, C<body>, C<param> and C<upload> die with an L<APR::Request::Error> if the form is invalid.

=head1 DIFFERENCES

The whole body has arrived before Perl runs. Limits and hooks therefore apply to a complete body.

=head1 SEE ALSO

L<Apache2::Request>, L<APR::Request::Param>, L<APR::Request::Cookie>, L<APR::Request::Error>.

=cut
