package Apache2::RequestRec;

# `$r`. The methods a request passes through are XS (Mehari.xs); this adds the rest.

use strict;
use warnings;
use Mehari ();

sub printf {
    my ($self, $format, @values) = @_;
    return $self->print(CORE::sprintf($format, @values));
}

# `$r->notes`, `$r->notes($key)`, `$r->notes($key => $value)`.
sub notes {
    my $self = shift;
    my $table = $self->notes_table;
    return $table unless @_;
    return @_ == 1 ? $table->get(@_) : $table->set(@_);
}

sub header_in  { my $table = shift->headers_in;  @_ > 1 ? $table->set(@_) : $table->get(@_) }
sub header_out { my $table = shift->headers_out; @_ > 1 ? $table->set(@_) : $table->get(@_) }

# mod_perl 1: says the headers are complete. Here they go out with the first text.
sub send_http_header {
    my ($self, $type) = @_;
    $self->content_type(defined $type ? $type : $self->content_type || 'text/html');
    return;
}

sub TIEHANDLE { my ($class, $self) = @_; return $self }
sub PRINT  { my $self = shift; $self->print(@_) }
sub PRINTF { my $self = shift; $self->printf(@_) }
sub READ   { my $self = shift; $self->read(@_) }

1;
