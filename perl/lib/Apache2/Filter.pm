package Apache2::Filter;

# Streaming filters: `sub handler { my $f = shift; while ($f->read(my $part, 1024)) { $f->print(lc $part) } OK }`.
# What a handler flushes goes through the chain at once, the rest at its end or when it is much, in pieces of 8 KiB, as
# mod_perl's own buffer gives them; the last call has no piece and `seen_eos`. Where APR::Brigade is loaded a filter gets a
# brigade as well: `$f->next->get_brigade` fills that of an input filter, `$f->next->pass_brigade` takes that of an output
# filter (Apache2::Filter::Next).

use strict;
use warnings;
use Apache2::Const     ();
use Apache2::FilterRec ();
use Mehari::Absent     ();
use Mehari::Handler    ();

my $PIECE = 8192;

# By their code: what is to be called before a filter's first piece, and filters that are none of requests.
my (%init, %of_connections);

# A part of the body as the handlers of a phase leave it, one after the other; dies when one of them does.
sub run {
    my ($r, $handlers, $body, $phase, $is_last) = @_;
    my $chain  = $r->_slots->{"filters of $phase"} ||= [];
    my @pieces = unpack "(a$PIECE)*", $body;
    for my $at (0 .. $#$handlers) {
        $chain->[$at] ||= _begun($r, $handlers->[$at], $phase);
        @pieces = $chain->[$at]->_through($is_last, @pieces);
    }
    return join '', @pieces;
}

# A filter by its name or code, marked `FilterConnectionHandler`.
sub is_of_connections { my ($code) = Mehari::Handler::called($_[0]); return $of_connections{$code} ? 1 : 0 }

sub _begun {
    my ($r, $handler, $phase) = @_;
    my ($code, @invocant) = Mehari::Handler::called($handler);
    die 'the filter ', (ref $handler ? 'of this request' : $handler), " is one of connections, which do not exist here: use FilterRequestHandler\n" if $of_connections{$code};
    my $self = bless { r => $r, is_input => $phase =~ /Input/ ? 1 : 0, name => ref $handler ? 'CODE' : $handler, ctx => undef, code => $code, invocant => \@invocant }, __PACKAGE__;
    _init($code, $self);
    return $self;
}

# What a filter prints in one call is one piece for the next filter.
sub _through {
    my ($self, $is_last, @pieces) = @_;
    my ($code, $invocant) = @$self{qw(code invocant)};
    my @made;
    while (@pieces && !$self->{removed}) { push @made, $self->_call($code, $invocant, shift @pieces, 0) }
    push @made, @pieces if $self->{removed};
    push @made, $self->_call($code, $invocant, '', 1) if $is_last && !$self->{removed};
    return grep { length } @made;
}

# One piece; what a filter that declines, or removes itself, has not read passes as it is.
sub _call {
    my ($self, $code, $invocant, $piece, $eos) = @_;
    @$self{qw(piece at eos made)} = ($piece, 0, $eos, '');
    my @brigade = $INC{'APR/Brigade.pm'} ? $self->_brigade : ();
    my $answer   = $code->(@$invocant, $self, @brigade);
    if (@brigade && $self->{is_input}) {
        $brigade[0]->flatten(my $text);
        $self->{made} .= $text;
    }
    my $declined = defined $answer && $answer eq Apache2::Const::DECLINED();
    $self->{made} .= substr $self->{piece}, $self->{at} if $declined || $self->{removed};
    return $self->{made};
}

# What a filter that works on brigades is called with: the piece, or for input an empty one, its mode and size.
sub _brigade {
    my ($self) = @_;
    my $brigade = APR::Brigade->new($self->{r}->pool, APR::BucketAlloc->new);
    return ($brigade, Apache2::Const::MODE_READBYTES(), 0, $PIECE) if $self->{is_input};
    $self->_fill($brigade);
    # It is the brigade's now.
    return $brigade;
}

sub _fill {
    my ($self, $brigade) = @_;
    my $piece = substr $self->{piece}, $self->{at};
    $brigade->insert_tail(APR::Bucket->new($brigade->bucket_alloc, $piece)) if length $piece;
    $brigade->insert_tail(APR::Bucket::eos_create($brigade->bucket_alloc)) if $self->{eos};
    return;
}

# ---- for the filter ----

# read($buffer, $length): bytes read; 0 at the end of the piece.
sub read {
    my ($self, undef, $length) = @_;
    $length = $PIECE unless defined $length;
    $_[1] = substr $self->{piece}, $self->{at}, $length;
    $self->{at} += length $_[1];
    return length $_[1];
}

sub print {
    my $self  = shift;
    my $bytes = length(my $text = join '', @_);
    utf8::encode($text) if utf8::is_utf8($text);
    $self->{made} .= $text;
    return $bytes || '0E0';
}

*puts = \&print;

sub printf { my ($self, $format, @values) = @_; return $self->print(sprintf $format, @values) }

sub seen_eos { my $self = shift; my $old = $self->{eos}; $self->{eos} = $_[0] if @_; return $old ? 1 : 0 }

# What the filter keeps between its calls for a request.
sub ctx { my $self = shift; my $old = $self->{ctx}; $self->{ctx} = $_[0] if @_; return $old }

sub r { return $_[0]{r} }
sub c { return $_[0]{r}->connection }

sub remove { $_[0]{removed} = 1; return }

sub frec { my ($self) = @_; return Apache2::FilterRec->new($self->{name}) }
sub next { require Apache2::Filter::Next; return Apache2::Filter::Next->of($_[0]) }
sub fflush { my ($self, $brigade) = @_; return $self->next->pass_brigade($brigade) }

sub TIEHANDLE { my ($class, $self) = @_; return $self }
sub PRINT  { my $self = shift; return $self->print(@_) }
sub PRINTF { my $self = shift; return $self->printf(@_) }

# ---- attributes: `sub handler : FilterRequestHandler FilterHasInitHandler(\&init)` ----

sub MODIFY_CODE_ATTRIBUTES {
    my ($package, $code, @attributes) = @_;
    my @unknown;
    for my $attribute (@attributes) {
        if ($attribute =~ /\AFilter(?:Request|Init)Handler\z/) { next }
        elsif ($attribute =~ /\AFilterHasInitHandler\((.*)\)\z/s) { $init{$code} = eval "package $package; no strict; $1" or die "FilterHasInitHandler($1): $@" }
        elsif ($attribute eq 'FilterConnectionHandler') { $of_connections{$code} = 1 }
        else { push @unknown, $attribute }
    }
    return @unknown;
}

sub _init { my ($code, $self) = @_; my $init = $init{$code} or return; $init->($self); return }

Mehari::Absent::methods(
    __PACKAGE__, 'a filter asks the next one: $f->next->get_brigade, $f->next->pass_brigade; or use $f->read and $f->print',
    qw(get_brigade pass_brigade filter_flush),
);

1;
