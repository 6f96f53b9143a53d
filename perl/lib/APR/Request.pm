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

# upload($name): APR::Request::Param objects with their content; without a name the names, or a table of them.
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
