package Mehari::Inspect::Loaded;

# What a process has loaded: modules, compiled scripts, its environment, database handles, and the
# menu items of Apache2::Status.

use strict;
use warnings;
use Mehari::Inspect ();
use Mehari::Inspect::Symbols ();

# Tells only which process answers.
sub process { return { title => 'Process', rows => [], columns => [] } }

sub modules {
    my $files = Mehari::Inspect::files();
    my %seen;
    my @rows = map {
        my $package = /\.pm\z/ ? s/\.pm\z//r =~ s{/}{::}gr : $_;
        my $symbols = eval { Mehari::Inspect::package_of($package) };
        [ $package, _version($symbols), _place($files->{$_}), _time($_),
            $symbols ? Mehari::Inspect::Symbols::bytes_of_package($package, $symbols, \%seen) : undef ];
    } sort keys %$files;
    return { title => 'Loaded modules', rows => \@rows, columns => [
        { name => 'Module', kind => 'package' }, { name => 'Version' }, { name => 'File' },
        { name => 'Load time', kind => 'us' }, { name => 'Bytes', kind => 'bytes' } ],
        note => 'A load time includes the modules that a module loads itself. Bytes are the code and the'
            . ' variables of the package; a value that several packages hold counts once.' };
}

sub _version {
    my ($symbols) = @_;
    return '' unless $symbols && exists $symbols->{VERSION} && ref \$symbols->{VERSION} eq 'GLOB';
    my $version = ${ *{ \$symbols->{VERSION} }{SCALAR} };
    return ref $version ? eval { $version->stringify } // '' : $version // '';
}

# %INC may hold code and objects.
sub _place { my ($file) = @_; return ref $file ? 'made by ' . ref $file : $file // '' }

sub _time { my ($name) = @_; no warnings 'once'; return $Mehari::Inspect::load_us{$name} && sprintf '%d', $Mehari::Inspect::load_us{$name} }

sub scripts {
    my (@rows, %seen);
    for my $script (sort { $a->{file} cmp $b->{file} } Mehari::Inspect::_scripts()) {
        my @stat = stat $script->{file};
        my $bytes = $script->{code} ? Mehari::Inspect::Symbols::bytes_of_code($script->{code}, \%seen) : 0;
        my $symbols = defined $script->{package} && eval { Mehari::Inspect::package_of($script->{package}) };
        $bytes += Mehari::Inspect::Symbols::bytes_of_package($script->{package}, $symbols, \%seen) if $symbols;
        push @rows, [ $script->{file}, join(' ', sort keys %{ $script->{uris} || {} }),
            @stat ? "$stat[0]:$stat[1]" : 'gone', $script->{package}, $script->{world}, $bytes ];
    }
    return { title => 'Compiled scripts', rows => \@rows, columns => [
        { name => 'File' }, { name => 'URLs' }, { name => 'Device:inode' }, { name => 'Package', kind => 'package' },
        { name => 'Compiled for' }, { name => 'Bytes', kind => 'bytes' } ],
        note => 'The scripts that this process keeps compiled. A file under two URLs is compiled once.' };
}

sub environment {
    my @rows = map { [ '%ENV', $_, $ENV{$_} ] } sort keys %ENV;
    push @rows, map { [ '@INC', $_, _place($INC[$_]) ] } 0 .. $#INC;
    push @rows, map { [ '%SIG', $_, ref $SIG{$_} ? 'code' : $SIG{$_} ] } grep { $SIG{$_} } sort keys %SIG;
    push @rows, [ 'perl', 'version', sprintf '%vd', $^V ], [ 'perl', 'program', $^X ], [ 'perl', 'taint', ${^TAINT} ? 'on' : 'off' ];
    return { title => 'Environment', rows => \@rows, columns => [ { name => 'Of' }, { name => 'Name' }, { name => 'Value' } ],
        note => 'Between two requests, %ENV holds what every request begins with.' };
}

sub databases {
    my @rows;
    if (!Mehari::Inspect::files()->{'DBI.pm'}) {
        return { title => 'Database handles', rows => [], columns => [ { name => 'Handle' } ], note => 'The process has not loaded DBI.' };
    }
    DBI->visit_handles(sub {
        my ($handle, $depth) = @_;
        push @rows, eval { _handle($handle, $depth) } // [ 'unreadable', $depth, '', '', '', '', '' ];
        return $depth + 1;
    }, 0);
    return { title => 'Database handles', rows => \@rows, columns => [
        { name => 'Handle' }, { name => 'Depth', kind => 'number' }, { name => 'Name' }, { name => 'User' },
        { name => 'Active' }, { name => 'Children', kind => 'number' }, { name => 'Statement' } ] };
}

my %KINDS = (dr => 'driver', db => 'database', st => 'statement');

sub _handle {
    my ($handle, $depth) = @_;
    my $get = sub { my ($name) = @_; return scalar eval { local $handle->{RaiseError}; $handle->{$name} } };
    my $kind = $get->('Type') // '';
    my $name = $kind eq 'st' ? '' : $get->('Name') // '';
    $name =~ s/((?:password|pwd)\s*=)[^;]*/$1.../gi;
    my $user = $kind eq 'db' ? $get->('Username') : '';
    return [ $KINDS{$kind} // $kind, $depth, $name, $user // '', $get->('Active') ? 'yes' : 'no', $get->('Kids') || 0,
        $kind eq 'st' ? $get->('Statement') // '' : '' ];
}

# The pages that applications add by Apache2::Status->menu_item. Their HTML is shown as text.
sub menu {
    my ($wanted) = @_;
    no warnings 'once';
    my $items = Mehari::Inspect::files()->{'Apache2/Status.pm'} ? \%Apache2::Status::items : {};
    if (!defined $wanted) {
        my @rows = map { [ $_, $items->{$_}[0] ] } sort keys %$items;
        return { title => 'Menu items of Apache2::Status', rows => \@rows, columns => [ { name => 'Item', kind => 'menu' }, { name => 'Title' } ],
            note => 'Applications add menu items by Apache2::Status->menu_item.' };
    }
    my $item = $items->{$wanted} or die "no application has added the menu item `$wanted`\n";
    my $html = join '', @{ $item->[1]->(undef, undef) || [] };
    return { title => $item->[0], text => _plain($html) };
}

my %ENTITIES = (lt => '<', gt => '>', amp => '&', quot => '"', nbsp => ' ');

sub _plain {
    my ($html) = @_;
    $html =~ s{<\s*(?:br|/tr|/p|/li|/h\d|/div)\b[^>]*>}{\n}gi;
    $html =~ s{<\s*/t[dh]\b[^>]*>}{\t}gi;
    $html =~ s/<[^>]*>//g;
    $html =~ s/&(?:#(\d{1,7})|(\w+));/defined $1 ? ($1 < 0x110000 ? chr $1 : '') : $ENTITIES{$2} \/\/ "&$2;"/ge;
    return $html;
}

1;

__END__

=head1 NAME

Mehari::Inspect::Loaded - internal

=head1 DESCRIPTION

This module is internal to the server: it shows what a process has loaded for
C<mehari inspect>.

=cut
