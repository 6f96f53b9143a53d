package Mehari::Explanation;

# Looks through a script's compiled code for what the rung `rewind` cannot restore. `mehari explain`
# prints the findings. The process that explains a script calls `look` (xs/process/explanation.c).
# While a script serves requests, perl/xs/rewind/process_number.c and the files beside it check what
# each request has really done.

use strict;
use warnings;
use B ();
use Mehari::Zygote ();

# sub => [effect, text]. After the effect `fork`, the script runs on the rung `fork` from then on.
# After the effect `process`, the process of the request ends; after three such requests in a row,
# the script runs on the rung `fork`.
my %SUBS = (
    'POSIX::getpid'               => [ fork    => 'reads the number of its process (POSIX::getpid)' ],
    'POSIX::_exit'                => [ process => 'ends its process (POSIX::_exit)' ],
    'POSIX::setsid'               => [ process => 'starts a session (POSIX::setsid)' ],
    'POSIX::setpgid'              => [ process => 'changes its process group (POSIX::setpgid)' ],
    'POSIX::setuid'               => [ process => 'changes its user (POSIX::setuid)' ],
    'POSIX::setgid'               => [ process => 'changes its group (POSIX::setgid)' ],
    'POSIX::nice'                 => [ process => 'changes its priority (POSIX::nice)' ],
    'BSD::Resource::setrlimit'    => [ process => 'changes its limits (BSD::Resource::setrlimit)' ],
    'BSD::Resource::setpriority'  => [ process => 'changes its priority (BSD::Resource::setpriority)' ],
    'threads::async'              => [ process => 'starts a thread, which must end before the response does' ],
);

my %OPERATORS = (
    fork        => [ process => 'forks, and the child must end before the response does' ],
    exec        => [ process => 'replaces its process (exec)' ],
    syscall     => [ process => 'calls the kernel itself (syscall)' ],
    setpgrp     => [ process => 'changes its process group (setpgrp)' ],
    setpriority => [ process => 'changes its priority (setpriority)' ],
    chroot      => [ process => 'changes its root (chroot)' ],
);

my $PID     = [ fork    => 'reads the number of its process ($$)' ];
my $THREADS = [ process => 'starts a thread, which must end before the response does' ];
my $USER    = [ process => 'changes its user or group' ];

# Operators that compare two values. A script that only compares its process number with another
# number tells a parent from a child, so the rung stays.
my %COMPARES = map { $_ => 1 } qw(eq ne i_eq i_ne seq sne);

my (%seen, %found, @lines, $pid, %users);
our ($file, $line, @pad); # the place and the pad of the sub that `_operator` walks through

# Returns lines `finding TAB effect TAB line TAB what TAB file` of the script and of the site's own
# modules.
sub look {
    my ($code) = @_;
    (%seen, %found, @lines) = ();
    no warnings 'once';
    $pid   = ${ B::svref_2object(\$$) };
    %users = map { ${ B::svref_2object($_) } => 1 } \$<, \$>, \$(, \$);
    _sub(B::svref_2object($code));
    _package('main::', {});
    return @lines;
}

sub _package {
    my ($name, $visited) = @_;
    no strict 'refs';
    my $symbols = \%{$name};
    return if $visited->{$symbols}++;
    for my $symbol (keys %$symbols) {
        if ($symbol =~ /::\z/) {
            _package($name eq 'main::' ? $symbol : $name . $symbol, $visited);
            next;
        }
        my $entry = \$symbols->{$symbol};
        my $code = ref $entry eq 'GLOB' ? *{$entry}{CODE} : ref $$entry eq 'CODE' ? $$entry : undef;
        my $sub = $code && B::svref_2object($code);
        _sub($sub) if $sub && !$sub->XSUB && _is_of_the_site($sub->FILE);
    }
    return;
}

my ($OURS) = __FILE__ =~ m{\A(.*)/Mehari/Explanation\.pm\z};

sub _is_of_the_site {
    my ($path) = @_;
    return defined $path && $path =~ m{\A[./]} && index($path, $OURS) != 0 && !Mehari::Zygote::is_standard($path);
}

sub _sub {
    my ($sub) = @_;
    return if $seen{$$sub}++ || !${ $sub->ROOT };
    my $list = $sub->PADLIST;
    my @values = $list->isa('B::PADLIST') ? ($list->ARRAY)[1]->ARRAY : ();
    {
        local @pad = @values;
        local ($file, $line) = ($file, $line);
        _operator($sub->ROOT, '');
    }
    # Anonymous and lexical subs lie in the pad.
    for my $value (@values) {
        _sub($value) if $value && $value->isa('B::CV') && !$value->XSUB;
    }
    return;
}

sub _operator {
    my ($operator, $parent) = @_;
    return if !$$operator;
    my $name = $operator->name;
    if ($name eq 'nextstate' || $name eq 'dbstate') {
        ($file, $line) = ($operator->file, $operator->line);
    }
    _judge($operator, $name, $parent);
    return if !($operator->flags & B::OPf_KIDS());
    # For an operator that perl has optimised away (`null`), the parent counts.
    my $above = $name eq 'null' ? $parent : $name;
    for (my $each = $operator->first; $$each; $each = $each->sibling) {
        _operator($each, $above);
    }
    return;
}

sub _judge {
    my ($operator, $name, $parent) = @_;
    _find($OPERATORS{$name}) if $OPERATORS{$name};
    if ($name eq 'gvsv' || $name eq 'gv') {
        my $symbol = _symbol($operator) or return;
        return _call($symbol) if $name eq 'gv' && $parent ne 'rv2sv';
        my $variable = $symbol->isa('B::GV') ? ${ $symbol->SV } : 0;
        _find($PID) if $variable == $pid && !$COMPARES{$parent};
    }
    elsif ($name eq 'sassign' && $operator->can('last')) {
        my $to = $operator->last;
        $to = $to->first if $$to && $to->name eq 'null' && $to->flags & B::OPf_KIDS();
        my $symbol = $$to && $to->name eq 'gvsv' ? _symbol($to) : undef;
        _find($USER) if $symbol && $symbol->isa('B::GV') && $users{ ${ $symbol->SV } };
    }
    elsif ($name eq 'const') {
        my $value = $operator->isa('B::SVOP') && ${ $operator->sv } ? $operator->sv : $pad[ $operator->targ ];
        _find($THREADS) if $parent eq 'entersub' && $value && $value->can('PV') && $value->isa('B::PV') && ($value->PV // '') eq 'threads';
    }
    return;
}

# Returns the glob or the code of an operator. In a perl with threads, the pad holds it.
sub _symbol {
    my ($operator) = @_;
    my $symbol = $operator->isa('B::PADOP') ? $pad[ $operator->padix ] : $operator->isa('B::SVOP') ? $operator->sv : undef;
    return $symbol && $$symbol ? $symbol : undef;
}

sub _call {
    my ($symbol) = @_;
    my $code = $symbol->isa('B::GV') ? $symbol->CV : $symbol->can('RV') && $symbol->FLAGS & B::SVf_ROK() ? $symbol->RV : undef;
    return if !$code || !$$code || !$code->isa('B::CV');
    my $named = $code->GV;
    return if !$named->isa('B::GV');
    my $finding = $SUBS{ $named->STASH->NAME . '::' . $named->NAME };
    _find($finding) if $finding;
    return;
}

sub _find {
    my ($finding) = @_;
    my ($effect, $what) = @$finding;
    my $text = join "\t", 'finding', $effect, $line // 0, $what, $file // '?';
    push @lines, $text if !$found{$text}++ && @lines < 100;
    return;
}

1;

__END__

=head1 NAME

Mehari::Explanation - internal

=head1 DESCRIPTION

This module is internal to the server: it looks through a script's compiled code for C<mehari
explain>.

=cut
