package cl

import (
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
)

// A Platform is one OpenCL implementation. It needs no release.
type Platform struct {
	id capi.Platform
}

// GetPlatforms lists the platforms. Without an OpenCL library the error is Load's; with a library
// but no platform it is ErrNoPlatform.
func GetPlatforms() ([]*Platform, error) {
	if err := Load(); err != nil {
		return nil, err
	}
	defer dl.KeepSignals()()
	ids, err := listAll(api().GetPlatformIDs)
	if err == nil && len(ids) == 0 {
		err = ErrNoPlatform
	}
	var platforms []*Platform
	for _, id := range ids {
		platforms = append(platforms, &Platform{id})
	}
	return platforms, err
}

// GetDevices lists the platform's devices of a kind. A platform without any gives
// ErrDeviceNotFound.
func (p *Platform) GetDevices(deviceType DeviceType) ([]*Device, error) {
	return GetDevices(p, deviceType)
}

// text is a property of the platform, "" where there is none, or it does not tell.
func (p *Platform) text(param uint32) string {
	if p == nil || api() == nil {
		return ""
	}
	s, _ := infoString(func(size uintptr, value unsafe.Pointer, sizeRet *uintptr) int32 {
		return api().GetPlatformInfo(p.id, param, size, value, sizeRet)
	})
	return s
}

// Name is the platform's name.
func (p *Platform) Name() string { return p.text(0x0902) }

// Vendor is the platform's vendor.
func (p *Platform) Vendor() string { return p.text(0x0903) }

// Profile is FULL_PROFILE or EMBEDDED_PROFILE.
func (p *Platform) Profile() string { return p.text(0x0900) }

// Version is "OpenCL", the version that the platform implements, and what the vendor adds.
func (p *Platform) Version() string { return p.text(0x0901) }

// Extensions lists the extensions that all devices of the platform have, separated by spaces.
func (p *Platform) Extensions() string { return p.text(0x0904) }
