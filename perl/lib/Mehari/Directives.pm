package Mehari::Directives;

# Keeps the directives that Perl modules define (Apache2::Module::add), and the objects that their
# callbacks fill.
#
# `apply` runs the callback of one line: while the configuration is read, again in each zygote, and
# for lines of a .htaccess in the worker. A section with such lines is a container, which has a
# number and one object for each module. DIR_CREATE makes the object. DIR_MERGE merges the objects
# of all sections that apply to a request. SERVER_CREATE and SERVER_MERGE do the same for servers.

use strict;
use warnings;
use Apache2::CmdParms ();
use Apache2::Command  ();

# %command: name in lower case => [Apache2::Command, module]. %commands_of: module => the commands
# in the order of their definition.
my (%command, %commands_of);

# New directives that the front does not know yet, as texts.
my @news;

# %of_container: module => container => object. %of_server: module => server => object. %joined:
# module => virtual host => the object merged from those of the main server and of the host.
my (%of_container, %of_server, %joined);

# server => the containers of lines outside of sections.
my %base;

# True while a callback runs. A server's own object is then still being filled, so it is not merged.
our $is_reading;

# The value with which a callback leaves the line to other modules. Mehari has no other modules.
my $DECLINE = "\a\b";

sub add {
    my ($module, $definitions) = @_;
    ref $definitions eq 'ARRAY' or _misuse('expected an array of commands behind the package');
    $commands_of{$module} = [];
    for my $definition (@$definitions) {
        my $command = Apache2::Command->of($definition);
        $command->{'next in module'} = undef;
        $commands_of{$module}[-1]{'next in module'} = $command if @{ $commands_of{$module} };
        push @{ $commands_of{$module} }, $command;
        $command{ lc $command->name } = [$command, $module];
        # The end of a section without its beginning is refused for all sections.
        next if $command->name =~ m{\A</};
        push @news, join "\n", $command->name, $command->args_how, $command->req_override, $module, $command->errmsg // '';
    }
    return;
}

sub _misuse { my ($what) = @_; require Carp; Carp::croak("Apache2::Module::add: $what") }

sub take_new_directives { return splice @news }

sub modules { return sort keys %commands_of }

sub commands { my ($module) = @_; return ($commands_of{$module} || [])->[0] }

# Runs the callback of one line. Dies with the callback's error. server/config writes the text.
sub apply {
    my ($text) = @_;
    my ($container, $server, $file, $line, $path, $standing, $name, @more) = split /\n/, $text, -1;
    my ($command, $module) = @{ $command{ lc $name } || $command{ lc "<$name" } or die "no module has defined a directive `$name`\n" };
    my @arguments = map { substr $_, 1 } grep { /\Aa/ } @more;
    my @lines     = map { substr $_, 1 } grep { /\Al/ } @more;
    my $parms = Apache2::CmdParms->of(
        command => $command, server => $server, container => $container, path => length $path ? $path : undef,
        override => $standing, name => $name, arguments => \@arguments, file => $file, line => $line, lines => \@lines,
    );
    $base{$server}{$container} = 1 unless length $path;
    my $object = _object(\%of_container, $module, $container, 'DIR_CREATE', $parms);
    _object(\%of_server, $module, $server, 'SERVER_CREATE', $parms);
    # An object that was merged before this line must be merged again.
    delete $joined{$module};
    my $method = $command->func;
    local $is_reading = 1;
    for my $call (_calls($command, @arguments)) {
        my $answer = $object->$method($parms, @$call);
        die "the module does not take it\n" if defined $answer && !ref $answer && $answer eq $DECLINE;
    }
    return;
}

# Returns the arguments of each call of a callback. With ITERATE there is one call for each word.
# With ITERATE2 there is one call for each word after the first, with the first word before it.
# The raw text of a section gets its `>` back.
sub _calls {
    my ($command, @arguments) = @_;
    my $how = $command->args_how;
    return map { [$_] } @arguments if $how == Apache2::Const::ITERATE();
    return map { [$arguments[0], $_] } @arguments[1 .. $#arguments] if $how == Apache2::Const::ITERATE2();
    return ["$arguments[0]>"] if $how == Apache2::Const::RAW_ARGS() && $command->name =~ /\A</;
    return [@arguments];
}

sub _object {
    my ($objects, $module, $key, $create, $parms) = @_;
    return $objects->{$module}{$key} ||= $module->can($create) ? $module->$create($parms) : bless {}, $module;
}

# Returns a server's object, or the merged object of a request's sections. Apache2::Module's
# get_config calls it.
sub config {
    my ($module, $server, $per_dir) = @_;
    return undef unless $commands_of{$module};
    return _of_server($module, ref $server ? $server->{number} : $server || 0) unless defined $per_dir;
    my ($of) = ref $per_dir eq 'Apache2::ConfVector' ? @$per_dir : $per_dir;
    return _of_container($module, $of) if ref $of eq 'Apache2::CmdParms';
    return _joined($module, _containers_of_server($of)) unless ref $of;
    my $kept = $of->_slots->{'custom directives'} ||= {};
    $kept->{$module} = _joined($module, _containers($of)) unless exists $kept->{$module};
    return $kept->{$module};
}

sub _of_container { my ($module, $parms) = @_; return $of_container{$module}{ $parms->{container} } }

sub _of_server {
    my ($module, $number) = @_;
    my $own  = $of_server{$module}{$number};
    my $main = $of_server{$module}{0};
    return $own || $main if $is_reading || !($number && $own && $main);
    return $joined{$module}{$number} ||= _merge($module, 'SERVER_MERGE', $main, $own);
}

# Merges the objects of containers in the given order, the outermost container first.
sub _joined {
    my ($module, @containers) = @_;
    my $joined;
    for my $object (grep { defined } map { $of_container{$module}{$_} } @containers) {
        $joined = defined $joined ? _merge($module, 'DIR_MERGE', $joined, $object) : $object;
    }
    return $joined;
}

sub _merge {
    my ($module, $method, $base, $added) = @_;
    return $module->can($method) ? $base->$method($added) : $added;
}

# Returns the containers of a server's lines outside of sections that are known so far. It serves
# callbacks, which run before there is a request.
sub _containers_of_server {
    my ($number) = @_;
    return map { sort { $a <=> $b } keys %{ $base{$_} || {} } } $number ? (0, $number) : 0;
}

# Each worker applies the lines of a .htaccess file when the worker's first request needs them. The
# containers of such lines belong to this worker. %is_read: the lines applied so far. @late: the
# numbers of their containers, the oldest first.
my (%is_read, @late);
use constant MOST_LATE => 1000;

sub _containers {
    my ($of) = @_;
    my @pairs = Mehari::Server::containers($of);
    my @containers;
    while (my ($number, $line) = splice @pairs, 0, 2) {
        push @containers, $number unless @containers && $containers[-1] == $number;
        next if $line eq '' || $is_read{"$number\n$line"}++;
        push @late, $number;
        _forget(shift @late) if @late > MOST_LATE;
        apply($line);
    }
    return @containers;
}

# Forgets an old container of a .htaccess file. Each version of a changed file has a new container.
sub _forget {
    my ($number) = @_;
    delete $_->{$number} for values %of_container;
    delete $is_read{$_} for grep { /\A$number\n/ } keys %is_read;
    return;
}

1;

__END__

=head1 NAME

Mehari::Directives - internal

=head1 DESCRIPTION

This module is internal to the server: it keeps the directives that Perl modules define; see
L<Apache2::Module>.

=cut
