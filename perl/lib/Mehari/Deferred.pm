package Mehari::Deferred;

# Deferred calls: `$r->after_response`, `Mehari::after_response` and
# `$env->{'mehari.after_response'}`. This module checks what a request defers and freezes the
# arguments. xs/phases/deferred.c keeps code and sends named calls to the front. A worker thaws and
# calls in `run`.

use strict;
use warnings;
use Carp ();
use Storable ();

# Errors are reported at the line that calls one of the three.
our @CARP_NOT = ('Mehari', 'Apache2::RequestRec');

# The most bytes of a call: its name and its frozen arguments. A record of the mailbox holds 65536.
use constant MOST => 60_000;
# The deepest nesting of arguments.
use constant DEEPEST => 100;

# Defers the call of a sub: code, or a name with plain data. Returns true, or false if there is no
# room. Dies if the call can never be made.
sub add {
    my ($what, @arguments) = @_;
    my $is_code = ref $what eq 'CODE';
    my $refusal = _refusal($is_code);
    Carp::croak("after_response: $refusal") if defined $refusal;
    return _keep($what, \@arguments) if $is_code;
    _check_name($what);
    my $frozen = Storable::nfreeze([map { _plain($arguments[$_], $_ + 1, 0) } 0 .. $#arguments]);
    my $bytes = length($what) + length $frozen;
    Carp::croak("after_response: the call of $what takes $bytes bytes; expected at most " . MOST) if $bytes > MOST;
    return _send($what, $frozen);
}

sub _check_name {
    my ($name) = @_;
    defined $name && !ref $name && $name =~ /\A[A-Za-z_]\w*(?:::\w+)+\z/a
        or Carp::croak('after_response: ' . (defined $name ? "`$name`" : 'undef') . " is no sub; expected code, or the name of a sub: 'Package::sub'");
    $name =~ /\AModPerl::ROOT::/
        and Carp::croak("after_response: $name is a sub of a script, which other workers may not have; expected a sub of a module");
    my $reason = _load($name);
    defined $reason and Carp::croak("after_response: $reason");
    return;
}

# Loads the package of a sub if the sub is not defined. Returns the reason why there is no such sub.
sub _load {
    my ($name) = @_;
    no strict 'refs';
    return undef if defined &$name;
    my ($package) = $name =~ /\A(.*)::/s;
    (my $file = "$package.pm") =~ s{::}{/}g;
    local $@;
    my $is_loaded = eval { require $file; 1 };
    return undef if defined &$name;
    return "$file does not load: $@" if !$is_loaded && $@ !~ /\ACan't locate \Q$file\E /;
    return "there is no sub $name" . ($is_loaded ? " in $INC{$file}" : ", and no file $file in \@INC");
}

# Returns a copy of an argument, without ties and magic.
sub _plain {
    my ($value, $number, $depth) = @_;
    my $kind = ref $value;
    Carp::croak("after_response: argument $number is nested more than " . DEEPEST . ' deep; expected plain data') if $depth > DEEPEST;
    if ($kind eq 'ARRAY') { return [map { _plain($_, $number, $depth + 1) } @$value] }
    if ($kind eq 'HASH') { return {map { $_ => _plain($value->{$_}, $number, $depth + 1) } keys %$value} }
    $kind ||= ref \$value eq 'GLOB' ? 'GLOB' : '';
    Carp::croak("after_response: argument $number has a reference to $kind; expected plain data: texts, numbers, undef, arrays and hashes") if $kind;
    return $value;
}

# Calls a sub with frozen arguments, in the worker that has got the call.
sub run {
    my ($name, $frozen) = @_;
    my $reason = _load($name);
    die "after_response: $reason\n" if defined $reason;
    # What other code may have allowed is not for data of the mailbox.
    my $arguments = do {
        local ($Storable::Eval, $Storable::Deparse, $Storable::flags) = (0, 0, 0);
        Storable::thaw($frozen);
    };
    ref $arguments eq 'ARRAY' or die "after_response: the arguments of $name cannot be read\n";
    no strict 'refs';
    &$name(@$arguments);
    return;
}

1;

__END__

=head1 NAME

Mehari::Deferred - work for after the response

=head1 SYNOPSIS

    # A handler or a Registry script:
    $r->after_response('My::Mail::send', $address, {name => 'Ann'});
    $r->after_response(sub { warm_cache($_[0]) }, $key);
    # A script on any rung but cgi:
    Mehari::after_response('My::Mail::send', $address);
    # PSGI:
    $env->{'mehari.after_response'}->('My::Mail::send', $address);

=head1 DESCRIPTION

A deferred call is Perl code that runs after the response. The client gets its whole response and
does not wait for the call. There are two forms.

=head2 The name of a sub

If you pass the name of a sub, the server gets the name and the arguments at once. When the request
is over, an idle worker (a Perl process of the server) makes the call, even if the request dies
later. The arguments are texts, numbers, undef, and arrays and hashes of these. The sub must be in a
module that a worker has loaded or can load.

=head2 Code

If you pass a code reference, the worker of the request calls the code after the request's cleanup
handlers. This worker takes no other request until the code has returned. Scripts on the rungs
C<fork>, C<rewind> and C<auto> can defer only a name, because their process ends or is restored
after the response.

=head1 RESULT

True if the call is deferred. False if the queue is full (directives DeferredCalls and
DeferredCallsMemory), or if the request has already deferred 100 code references. In a request of
the directive ZygoteWarmup, the result is true, but the call is dropped.

=head1 ERRORS

C<after_response> dies if the call can never be made: there is no such sub, the arguments are not
plain data or are longer than 60000 bytes, or there is no request. An error in the call itself is
written to the error log.

=head1 SEE ALSO

F<docs/how-to/work-after-the-response.md>.

=cut
