package APR::Request;

# The query string, cookies and body of a request, as in libapreq2. The parsing is XS
# (xs/api/apreq.c) and happens at the first access.

use strict;
use warnings;
use Mehari ();
use APR::Request::Error  ();
use APR::Request::Param  ();
use APR::Request::Cookie ();

our $VERSION = '2.17';

# Names and values of a URI.
sub encode { my ($text) = @_; $text =~ s/([^A-Za-z0-9._\-* ])/sprintf '%%%02X', ord $1/ge; $text =~ tr/ /+/; return $text }

sub decode {
    my ($text) = @_;
    $text =~ tr/+/ /;
    $text =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge;
    return $text;
}

# parse: the statuses of cookies, query string and body.
sub parse {
    my ($self) = @_;
    return ($self->jar_status, $self->args_status, $self->body_status);
}

sub jar_status { return 0 }

# 0, or the first error of query string and body.
sub param_status {
    my ($self) = @_;
    for my $status ($self->args_status, $self->body_status) { return $status if APR::Request::Error::is_error($status) }
    return 0;
}

# jar($name): values in list context; without a name the names, or a table.
sub jar {
    my ($self, @name) = @_;
    my $table = APR::Request::Cookie::jar_of($self->{r});
    return wantarray ? $table->get(@name) : scalar $table->get(@name) if @name;
    my %seen;
    return wantarray ? grep { !$seen{$_}++ } keys %$table : $table;
}

# upload($name): APR::Request::Param objects with their content; without a name the names, or a
# table of them.
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

# The longest body; returns the previous limit.
sub read_limit {
    my $self = shift;
    my $old  = $self->{READ_LIMIT};
    if (@_) {
        $self->{READ_LIMIT} = $_[0];
        $self->_limit($_[0]);
    }
    return $old;
}

# Longer uploads go to a file on disk; shorter ones stay in memory.
sub brigade_limit { my $self = shift; my $old = $self->{BRIGADE_LIMIT} // 256 * 1024; $self->{BRIGADE_LIMIT} = $_[0] if @_; return $old }

sub temp_dir { my $self = shift; my $old = $self->{TEMP_DIR}; $self->{TEMP_DIR} = $_[0] if @_; return $old }

sub disable_uploads { my ($self) = @_; $self->_refuse_uploads(1); return 1 }

# Calls the code for each upload's content.
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

This is the base of L<Apache2::Request> and L<APR::Request::Apache2>. The query and the body are
parsed at the first access.

=head1 METHODS

=over 4

=item args([NAME]), body([NAME]), param([NAME])

Parameters of the query, of the body, and of both. With a NAME the first value, or all values in
list context. Without it the names in list context, else an L<APR::Table>.

=item upload([NAME])

Uploads as L<APR::Request::Param> objects: of a name, or without it the names in list context,
else a hash reference.

=item jar([NAME])

Values of cookies as sent. Without a NAME the names in list context, else a table.

=item parse

The three statuses: of cookies, query and body.

=item args_status, body_status, jar_status, param_status

0, or the number of an error. C<param_status> leaves out that there is no form.

=item read_limit([BYTES]), brigade_limit([BYTES]), temp_dir([FOLDER])

The longest body; the longest upload in memory, 256 KiB; the folder for uploads. Return the old
value.

=item disable_uploads

Refuses forms with files. Returns 1.

=item upload_hook(CODE, [DATA])

Calls the code with the upload, a part, its length and DATA, for each part of each upload.

=item pool, bucket_alloc

The pool of the request, and a new allocator.

=back

=head1 FUNCTIONS

=over 4

=item encode(TEXT), decode(TEXT)

Text with C<%> codes and C<+>, and back.

=back

=head1 ERRORS

args, body, param and upload die with an L<APR::Request::Error> for a wrong form.

=head1 DIFFERENCES

The body is complete, so limits and hooks work on what has arrived.

=head1 SEE ALSO

L<Apache2::Request>, L<APR::Request::Param>, L<APR::Request::Cookie>, L<APR::Request::Error>.

=cut
